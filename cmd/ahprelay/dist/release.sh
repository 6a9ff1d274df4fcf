#!/bin/sh
# Builds what is released into DIRECTORY (dist-out unless given): an archive for each system, and SHA256SUMS.
# The same commit and the same Go give the same bytes, on whatever machine: paths, times, owners, orders and
# host names are left out.
set -eu
cd "$(dirname "$0")/../../.."
out=${1:-dist-out}
version=${VERSION:-$(git describe --tags --always --dirty)}
commit=${COMMIT:-$(git rev-parse --short=12 HEAD)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH CGO_ENABLED=0 GOEXPERIMENT=simd GOFLAGS="-trimpath -buildvcs=false" LC_ALL=C TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir -p "$out"

go run ./cmd/ahprelay/dist/manual "$work/share" "$version"
for target in ${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
	name=ahprelay-$version-${target%/*}-${target#*/}
	mkdir -p "$work/$name"
	GOOS=${target%/*} GOARCH=${target#*/} go build -ldflags "-s -w -X main.version=$version -X main.commit=$commit" -o "$work/$name/" ./cmd/ahprelay ./cmd/git-sidecar
	cp -R "$work/share/man1" "$work/share/completions" LICENSE README.md ahprelay.toml "$work/$name/"
	if [ "${target%/*}" = linux ]; then
		mkdir "$work/$name/systemd"
		cp cmd/ahprelay/dist/ahprelay.service cmd/ahprelay/dist/ahprelay.sysusers cmd/ahprelay/dist/ahprelay.toml "$work/$name/systemd/"
	fi
	chmod -R u=rwX,go=rX "$work/$name"
	tar --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$work" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
	echo "$out/$name.tar.gz"
done
(cd "$out" && sha256sum ahprelay-"$version"-*.tar.gz >SHA256SUMS)
