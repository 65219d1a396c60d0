{{- define "bascule.name" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "bascule.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bascule.labels" -}}
{{ include "bascule.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "bascule.redisSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-redis
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bascule.secret" -}}
{{- .Values.secret.existing | default (include "bascule.name" .) -}}
{{- end -}}

{{- define "bascule.shared" -}}
{{- if or (gt (int .Values.replicaCount) 1) .Values.redis.enabled -}}true{{- end -}}
{{- end -}}

{{- define "bascule.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $_ := set $config "seal" (dict "key" "${file:/etc/bascule-secret/seal-key}") -}}
{{- $limits := merge (dict "drainMs" (printf "%ds" (int .Values.drainSeconds))) (default dict $config.limits) -}}
{{- $_ := set $config "limits" $limits -}}
{{- if include "bascule.shared" . -}}
{{- $url := "${file:/etc/bascule-secret/redis-url}" -}}
{{- if .Values.redis.enabled -}}{{- $url = printf "redis://%s-redis:6379/0" (include "bascule.name" .) -}}{{- end -}}
{{- $_ := set $config "store" (dict "url" $url) -}}
{{- $_ := set $config "replicas" (dict "listen" "0.0.0.0:8810" "advertise" "${POD_IP}:8810") -}}
{{- end -}}
{{- if .Values.metrics.enabled -}}
{{- $_ := set $config "metrics" (dict "listen" "0.0.0.0:9464" "openToNetwork" true) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
