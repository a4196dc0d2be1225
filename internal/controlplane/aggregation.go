package controlplane

// AggregationFlags are the flags by which a kube-apiserver tells API servers behind it who asks, by name without dashes. The authority has to
// be one of its own: whoever the authority of the cluster knows may not speak for others. All three are paths; clientName is the common
// name in the certificate.
func AggregationFlags(authority, clientName, clientCert, clientKey string) map[string]string {
	return map[string]string{
		"requestheader-client-ca-file":       authority,
		"requestheader-allowed-names":        clientName,
		"requestheader-username-headers":     "X-Remote-User",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"requestheader-uid-headers":          "X-Remote-Uid",
		"proxy-client-cert-file":             clientCert,
		"proxy-client-key-file":              clientKey,
	}
}
