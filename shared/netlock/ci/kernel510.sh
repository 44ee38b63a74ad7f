#!/usr/bin/env bash
# Runs the attacks on Linux 5.10 in a virtual machine: before the kernel's
# bitmap for allowed calls, before signals stopped to end notifications, without
# Landlock, with Yama. usage: kernel510.sh WORK (holds netlock.test and attack)
set -euo pipefail
work=$(realpath "$1")
race=${NETLOCK_RACE:-60}

need=()
command -v qemu-system-x86_64 >/dev/null || need+=(qemu-system-x86)
command -v cpio >/dev/null || need+=(cpio)
((${#need[@]} == 0)) || apt-get install -qq -y --no-install-recommends "${need[@]}" >/dev/null

# The kernel of Debian's suite bullseye, from the mirror that this machine uses.
kernel=$(compgen -G "$work/kernel510/boot/vmlinuz-5.10*" || true)
if [ -z "$kernel" ]; then
	apt=$work/apt
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	mirror=$( (grep -rhE '^(URIs:|deb) ' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null || true) |
		grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1)
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bullseye main" >"$apt/sources.list"
	options=(-qq -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
	apt-get "${options[@]}" update
	package=$(apt-cache "${options[@]}" depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-5\.10[^ ]*\).*/\1/p' | head -1)
	(cd "$apt" && apt-get "${options[@]}" download "$package")
	dpkg-deb -x "$apt/$package"_*.deb "$work/kernel510"
	kernel=$(compgen -G "$work/kernel510/boot/vmlinuz-5.10*")
fi

root=$(mktemp -d "$work/initrd.XXXX")
mkdir -p "$root"/{proc,dev,tmp,etc}
chmod 755 "$root"
echo 'root:x:0:0::/:/none' >"$root/etc/passwd"
install -m 755 "$work/netlock.test" "$root/init"
install -m 755 "$work/attack" "$root/attack"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd.gz"

# The machine is emulated: nested virtualization hangs on some hosts. The
# kernel gives what it does not know on its command line to /init as variables.
timeout $((race + 400)) qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1024 -nographic -no-reboot -nic none \
	-kernel "$kernel" -initrd "$work/initrd.gz" \
	-append "console=ttyS0 quiet panic=-1 NETLOCK_TEST_ROLE=boot NETLOCK_RACE=$race" </dev/null 2>&1 | tr -d '\r' >"$work/kernel510.log"
grep -q '^=== VM failed settings: 0$' "$work/kernel510.log"
