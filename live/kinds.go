package live

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Kinds are what the server serves at one time.
type Kinds struct {
	versions map[schema.GroupKind]string
	failed   map[string]error // by group: those that did not answer
}

// DiscoverKinds asks the server what it serves.
func DiscoverKinds(ctx context.Context, server discovery.DiscoveryInterfaceWithContext) (Kinds, error) {
	groups, lists, err := discovery.ServerGroupsAndResourcesWithContext(ctx, server)
	kinds := Kinds{versions: map[schema.GroupKind]string{}, failed: map[string]error{}}
	var partly *discovery.ErrGroupDiscoveryFailed
	if errors.As(err, &partly) {
		for version, err := range partly.Groups {
			kinds.failed[version.Group] = err
		}
	} else if err != nil {
		return Kinds{}, err
	}
	served := map[string][]string{} // the kinds by group and version
	for _, list := range lists {
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				served[list.GroupVersion] = append(served[list.GroupVersion], resource.Kind)
			}
		}
	}
	for _, group := range groups {
		for _, version := range group.Versions {
			for _, name := range served[version.GroupVersion] {
				kind := schema.GroupKind{Group: group.Name, Kind: name}
				if _, ok := kinds.versions[kind]; !ok {
					kinds.versions[kind] = version.Version
				}
			}
		}
	}
	return kinds, nil
}

// Version is the version in which a kind is served, the one that the server prefers; empty if it is served in none.
func (k Kinds) Version(kind schema.GroupKind) (string, error) {
	version := k.versions[kind]
	if err := k.failed[kind.Group]; version == "" && err != nil {
		return "", fmt.Errorf("the API group %s does not answer: %w", kind.Group, err)
	}
	return version, nil
}
