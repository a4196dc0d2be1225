package source

import (
	"context"
	"fmt"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	dockerconfig "oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// ociCredentials reads the credentials for a repository of a registry, <host>/<path>.
func (r objectReader) ociCredentials(
	ctx context.Context, namespace, name string, ref *v1alpha1.LocalObjectReference,
) (credentials, error) {
	if ref == nil {
		return credentials{}, nil
	}
	host, _, _ := strings.Cut(name, "/")
	return r.credentials(ctx, namespace, ref, func(c *credentials, data map[string][]byte) error { return c.readOCI(ctx, host, data) })
}

// readOCI takes the credentials for a registry out of the data of a Secret.
func (c *credentials) readOCI(ctx context.Context, host string, data map[string][]byte) error {
	if err := c.readTLS(data, ociKeys); err != nil {
		return err
	}
	config, ok := data[keyDocker]
	if !ok {
		return c.readBasic(data, ociKeys)
	}
	if len(data[keyUsername]) > 0 || len(data[keyPassword]) > 0 {
		return fmt.Errorf("both %s and username or password are set: %s", keyDocker, ociKeys)
	}
	store, err := dockerconfig.NewMemoryStoreFromDockerConfig(config)
	if err != nil {
		return fmt.Errorf("key %q is no configuration of Docker", keyDocker) // the cause may quote it
	}
	// docker login knows a registry by another address than its own.
	login, _, _ := strings.Cut(strings.TrimPrefix(dockerconfig.ServerAddressFromRegistry(host), "https://"), "/")
	for _, address := range []string{host, login} {
		found, err := store.Get(ctx, address)
		if err != nil {
			return fmt.Errorf("key %q: %w", keyDocker, err)
		}
		if found != auth.EmptyCredential {
			c.username, c.password, c.bearerToken, c.refreshToken = found.Username, found.Password, found.AccessToken, found.RefreshToken
			return nil
		}
	}
	return fmt.Errorf("key %q has no credentials for %s", keyDocker, host)
}
