//go:build linux

package netlock

// auditArch is what the kernel calls this architecture. It has one ABI: numbers
// above every call are as foreign as x32's are elsewhere.
const auditArch, foreignABI = 0xc00000b7, 0x40000000
