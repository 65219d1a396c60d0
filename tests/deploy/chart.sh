#!/usr/bin/env bash
# Renders the Helm chart for three profiles, and reads what it renders with the types of the Kubernetes API: an unknown
# field, kind or type fails. `config check` reads the configs in it; systemd judges the unit. Needs Go, its registry,
# systemd-analyze, and `npm run build`.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools=node_modules/.cache/bascule-deploy
mkdir -p "$tools"
tools=$(realpath "$tools")
[ -x "$tools/helm" ] || GOBIN=$tools go install helm.sh/helm/v3/cmd/helm@v3.19.0
(cd tests/deploy/manifests && go build -o "$tools/manifests" .)

key=0123456789abcdef0123456789abcdef
single=(--set "secret.sealKey=$key")
replicas=(--set "secret.existing=mine,replicaCount=3,ingress.enabled=true,ingress.tlsSecret=tls"
  --set metrics.enabled=true,metrics.serviceMonitor=true)
redis=(--set "secret.sealKey=$key,replicaCount=3,redis.enabled=true")

profile() {
  local name=$1
  shift
  "$tools/helm" lint --quiet deploy/helm/bascule "$@"
  "$tools/helm" template try deploy/helm/bascule "$@" > "$work/$name.yaml"
  "$tools/manifests" < "$work/$name.yaml" > "$work/$name.kinds"
  echo "$name: $(wc -l < "$work/$name.kinds") objects"
  # The config, with the place of the secrets that a pod has.
  sed -n '/^  bascule.yaml: |/,/^---/p' "$work/$name.yaml" | sed '1d;/^---/d;s/^    //' |
    sed "s|/etc/bascule-secret|$work|" > "$work/bascule.yaml"
  sed -i "s|command: node|command: $(command -v node)|" "$work/bascule.yaml"
  POD_IP=10.0.0.5 node bin/bascule.js config check "$work/bascule.yaml" > "$work/$name.said"
}
printf %s "$key" > "$work/seal-key"
printf %s redis://127.0.0.1:6379/0 > "$work/redis-url"
chmod 600 "$work/seal-key" "$work/redis-url"
profile single "${single[@]}"
profile replicas "${replicas[@]}"
profile redis "${redis[@]}"

# What has to be there, and that the check can fail.
grep -q '^policy/v1 PodDisruptionBudget$' "$work/replicas.kinds"
grep -q '^monitoring.coreos.com/v1 ServiceMonitor$' "$work/replicas.kinds"
grep -q '^apps/v1 StatefulSet$' "$work/redis.kinds"
if sed 's/readinessProbe/readynessProbe/' "$work/single.yaml" | "$tools/manifests" > "$work/out" 2>&1; then
  echo 'a misspelt field was not found' >&2
  exit 1
fi
if "$tools/helm" template try deploy/helm/bascule > "$work/out" 2>&1; then
  echo 'the chart renders without a key' >&2
  exit 1
fi

mkdir -p "$work/unit"
sed 's|/usr/local/bin/bascule|/bin/true|' deploy/systemd/bascule.service > "$work/unit/bascule.service"
systemd-analyze verify "$work/unit/bascule.service"
systemd-analyze security --offline=true --threshold=20 deploy/systemd/bascule.service | tail -1
