{{- define "gvList" -}}
<!-- Generated from api/ by make generate. DO NOT EDIT. -->
# API reference
{{ range $i, $group := . }}{{ if $i }}
{{ end }}
## {{ .GroupVersionString }}

The objects that users and kubectl see: {{ range $i, $kind := .SortedKinds }}{{ if $i }}, {{ end }}[{{ $kind }}](#{{ lower $kind }}){{ end }}.
{{- range .SortedTypes }}
{{- if markdownShouldRenderType . }}
{{ template "type" . }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "type" }}
### {{ .Name }}

{{ .Doc }}
{{- with .SortedReferences }}

Used in {{ range $i, $type := . }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $type }}{{ end }}.
{{- end }}
{{- if .EnumValues }}

| Value | Meaning |
| --- | --- |
{{- range .EnumValues }}
| `{{ .Name }}` | {{ template "text" .Doc }} |
{{- end }}
{{- else if .Members }}

| Field | Type | Meaning | Default | Limits |
| --- | --- | --- | --- | --- |
{{- range .Members }}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ if eq .Name "metadata" }}the name, the namespace, labels and so on.{{ else }}{{ template "text" .Doc }}{{ end }} | {{ with .Default }}`{{ . }}`{{ end }} | {{ template "limits" .Validation }} |
{{- end }}
{{- end }}
{{- end -}}

{{- /* text is prose that fits into a cell of a table. */ -}}
{{- define "text" -}}
{{ . | replace "\n" " " | replace "|" "\\|" | trim }}
{{- end -}}

{{- /* limits are what the API server checks of one field. */ -}}
{{- define "limits" -}}
{{- $limits := list -}}
{{- range . -}}
{{- if hasPrefix "Required:" . -}}
{{- $limits = prepend $limits "required" -}}
{{- else if not (or (hasPrefix "Optional:" .) (hasPrefix "XIntOrString:" .)) -}}
{{- $limits = append $limits (. | replace "|" "\\|") -}}
{{- end -}}
{{- end -}}
{{ $limits | join ", " }}
{{- end -}}
