{{- define "app.name" -}}{{ .Release.Name }}-{{ .Chart.Name }}{{- end -}}
{{- define "app.labels" -}}
app.kubernetes.io/name: {{ include "app.name" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
team: {{ .Values.global.team }}
{{- end -}}
