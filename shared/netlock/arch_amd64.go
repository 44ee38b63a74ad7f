//go:build linux

package netlock

// auditArch is what the kernel calls this architecture; foreignABI is the first
// number of a second ABI that shares it (x32).
const auditArch, foreignABI = 0xc000003e, 0x40000000
