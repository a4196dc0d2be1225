package live

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/discovery"

	"github.com/convoy-dev/convoy/render"
)

// Capabilities asks the server what templates of charts may ask: its version, and the versions and kinds that it serves. A group that does
// not answer is an error: a chart would take its kinds for missing.
func Capabilities(ctx context.Context, server discovery.DiscoveryInterfaceWithContext) (render.Capabilities, error) {
	version, err := server.ServerVersionWithContext(ctx)
	if err != nil {
		return render.Capabilities{}, err
	}
	_, lists, err := discovery.ServerGroupsAndResourcesWithContext(ctx, server)
	if err != nil {
		return render.Capabilities{}, err
	}
	served := map[string]bool{}
	for _, list := range lists {
		served[list.GroupVersion] = true
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				served[list.GroupVersion+"/"+resource.Kind] = true
			}
		}
	}
	return render.Capabilities{KubeVersion: version.GitVersion, APIVersions: slices.Sorted(maps.Keys(served))}, nil
}
