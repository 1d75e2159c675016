# SPDX-License-Identifier: MIT
# chroot.sh: Debian releases in folders, for scripts/package and scripts/package-test, which need root. They are made by debootstrap
# of the mirror that this system's apt uses, and kept in .cache/package/RELEASE. Source it behind lib.sh.

. scripts/source.sh

package_cache=$root/.cache/package

# in_chroot FOLDER COMMAND...: with FOLDER as the root of a mount namespace, in a PID namespace: nothing stays mounted or running.
# $package_cache is /srv, /proc and /dev are there.
in_chroot() {
	local folder=$1
	shift
	# shellcheck disable=SC2016
	unshare --pid --fork --kill-child scripts/own-root sh -c '
		set -e
		mount --bind "$1" "$1"
		mount -t proc proc "$1/proc"
		mount --rbind /dev "$1/dev"
		mount -t sysfs -o ro sysfs "$1/sys" || :
		mkdir -p "$1/srv"
		mount --bind "$2" "$1/srv"
		cp -L /etc/resolv.conf "$1/etc/resolv.conf" || :
		cd "$1"
		shift 2
		pivot_root . .
		umount -l .
		cd /
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive "$@"' in_chroot "$folder" "$package_cache" "$@"
}

# Packages once downloaded are kept for the next time.
chroot_apt() { # FOLDER RELEASE APT-GET-ARGUMENT...
	local folder=$1 release=$2
	shift 2
	mkdir -p "$package_cache/$release/archives/partial"
	in_chroot "$folder" apt-get -q -y -o Dir::Cache::Archives="/srv/$release/archives" \
		-o APT::Keep-Downloaded-Packages=true -o APT::Sandbox::User=root --no-install-recommends "$@"
}

# chroot_base RELEASE: a minimal system in .cache/package/RELEASE/base
chroot_base() {
	local base=$package_cache/$1/base url
	[ -e "$base/etc/debian_version" ] && [ ! -e "$base/debootstrap" ] && return
	build_needs /usr/sbin/debootstrap debootstrap
	url=$(mirror)
	[ -n "$url" ] || die "apt knows no Debian mirror: there is nothing to make a chroot of $1 from"
	say "making a chroot of $1"
	rm -rf "$base"
	mkdir -p "$base"
	logged "$package_cache/$1/debootstrap.log" /usr/sbin/debootstrap --variant=minbase --keyring="$keyring" "$1" "$base" "$url"
	printf '#!/bin/sh\nexit 101\n' >"$base/usr/sbin/policy-rc.d"
	chmod 755 "$base/usr/sbin/policy-rc.d"
}
