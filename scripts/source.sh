# SPDX-License-Identifier: MIT
# source.sh: upstream tarballs of Debian's source packages. They come through apt from the mirror this system uses, and are
# checked by Debian's signatures; apt's own configuration stays as it is. Source it behind lib.sh, and set $work to a
# scratch folder.

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# This system's Debian mirror, from apt's own configuration; nothing when apt knows none
mirror() {
	apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian Debian \(http.*\)$/\1/p' | head -n 1
}

# private_apt COMMAND...: an apt command that knows the source packages of one release and nothing else
private_apt() {
	local command=$1
	shift
	"$command" -q -o Dir::Etc::sourcelist="$work/debian.sources" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State="$work/state" -o Dir::State::lists="$work/state/lists" \
		-o Dir::Cache="$work/cache" -o APT::Update::Post-Invoke-Success::= -o APT::Sandbox::User=root "$@"
}

# source_uri MIRROR RELEASE PACKAGE: "URI SHA256:..." of the tarball; the .dsc and Debian's own changes are not needed
source_uri() {
	mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
	cat >"$work/debian.sources" <<-EOF
		Types: deb-src
		URIs: $1
		Suites: $2
		Components: main
		Signed-By: $keyring
	EOF
	private_apt apt-get update >"$work/update.log" 2>&1 || return 1
	private_apt apt-get source --print-uris --download-only "$3" 2>/dev/null |
		sed -n "s/^'\([^']*\.orig\.tar\.[a-z0-9]*\)' .* \(SHA256:[0-9a-f]\{64\}\)$/\1 \2/p"
}

# source_download URI SHA256:... FILE
source_download() {
	private_apt /usr/lib/apt/apt-helper download-file "$1" "$3" "$2" >"$work/fetch.log" 2>&1
}

# source_of_this_release PACKAGE FILE: downloads it, or ends the script with a message
source_of_this_release() {
	local base uri sum
	base=$(mirror)
	[ -n "$base" ] || die "apt knows no Debian mirror: the sources of $1 cannot be fetched"
	read -r uri sum < <(source_uri "$base" "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$1") ||
		{ cat "$work"/*.log >&2; die "no source package of $1 at $base"; }
	source_download "$uri" "$sum" "$2" || { cat "$work/fetch.log" >&2; die "cannot download $uri"; }
}

# build_needs FILE PACKAGE...: installs the packages unless there is such a command or file
build_needs() {
	local what=$1
	shift
	[ -e "$what" ] || have "$what" && return
	say "installing $*"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 \
		install --no-install-recommends "$@" >&2
}
