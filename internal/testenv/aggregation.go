package testenv

import (
	"path/filepath"

	"k8s.io/client-go/util/cert"

	"github.com/convoy-dev/convoy/internal/controlplane"
	"github.com/convoy-dev/convoy/internal/pki"
)

// WithAggregation makes the API server pass requests on to API servers behind it, which an APIService names.
func WithAggregation() Option {
	return func(e *Environment) error {
		const client = "front-proxy-client"
		authority, err := pki.NewAuthority("front-proxy-ca")
		if err != nil {
			return err
		}
		pair, err := authority.Sign(pki.Client(client))
		if err != nil {
			return err
		}
		if err := pair.Write(e.dir, client); err != nil {
			return err
		}
		file := func(name string) string { return filepath.Join(e.dir, name) }
		if err := cert.WriteCert(file("front-proxy-ca.crt"), authority.Cert()); err != nil {
			return err
		}
		apiServer := e.envtest.ControlPlane.GetAPIServer().Configure()
		for name, value := range controlplane.AggregationFlags(file("front-proxy-ca.crt"), client, file(client+".crt"), file(client+".key")) {
			apiServer.Set(name, value)
		}
		return nil
	}
}
