package live

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
)

const (
	// indexLasts is how long the list of the server's schemas is believed. It changes when a server is upgraded, or a kind is added.
	indexLasts = 5 * time.Second
	// schemaTimeout is how long a schema may take: that of an aggregated API comes from a server of its own.
	schemaTimeout = 30 * time.Second
)

// schemas are what the server publishes of the structure of its kinds, one document a group and version, loaded when it is needed and
// again when its hash in the index moves. Of a document only the converter is kept, a hundredth of it.
type schemas struct {
	server discovery.DiscoveryInterfaceWithContext
	now    func() time.Time

	mu        sync.Mutex
	index     map[string]openapi.GroupVersionWithContext // by path
	indexRead time.Time
	documents map[schema.GroupVersion]*document
}

// document is the schema of one group and version in one state.
type document struct {
	source    openapi.GroupVersionWithContext // its URL holds the hash
	loading   chan struct{}                   // held by whoever loads it
	converter managedfields.TypeConverter     // nil before
}

func newSchemas(server discovery.DiscoveryInterfaceWithContext) *schemas {
	return &schemas{server: server, now: time.Now, documents: map[schema.GroupVersion]*document{}}
}

// converter is the schema of a group and version; nil if the server publishes none.
func (s *schemas) converter(ctx context.Context, version schema.GroupVersion) (managedfields.TypeConverter, error) {
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout)
	defer cancel()
	doc, err := s.document(ctx, version)
	if doc == nil || err != nil {
		return nil, err
	}
	select {
	case doc.loading <- struct{}{}:
		defer func() { <-doc.loading }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the schema of %s: %w", version, context.Cause(ctx))
	}
	if doc.converter == nil {
		if doc.converter, err = load(ctx, doc.source); err != nil {
			return nil, fmt.Errorf("load the schema of %s: %w", version, err)
		}
	}
	return doc.converter, nil
}

// document finds the current document of a group and version, loaded or not; nil if there is none.
func (s *schemas) document(ctx context.Context, version schema.GroupVersion) (*document, error) {
	index, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	path := "apis/" + version.String()
	if version.Group == "" {
		path = "api/" + version.Version
	}
	source, ok := index[path]
	if !ok {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	doc := s.documents[version]
	if doc == nil || doc.source.ServerRelativeURL() != source.ServerRelativeURL() {
		doc = &document{source: source, loading: make(chan struct{}, 1)}
		s.documents[version] = doc
	}
	return doc, nil
}

// current is the index, read again when it is old.
func (s *schemas) current(ctx context.Context) (map[string]openapi.GroupVersionWithContext, error) {
	s.mu.Lock()
	index, read := s.index, s.indexRead
	s.mu.Unlock()
	now := s.now()
	if index != nil && now.Sub(read) < indexLasts {
		return index, nil
	}
	index, err := s.server.OpenAPIV3WithContext(ctx).PathsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the server's schemas: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.After(s.indexRead) {
		s.index, s.indexRead = index, now
	}
	return index, nil
}

func load(ctx context.Context, source openapi.GroupVersionWithContext) (managedfields.TypeConverter, error) {
	content, err := source.SchemaWithContext(ctx, runtime.ContentTypeJSON)
	if err != nil {
		return nil, err
	}
	var doc spec3.OpenAPI
	if err := json.Unmarshal(content, &doc); err != nil {
		return nil, err
	}
	if doc.Components == nil {
		return nil, fmt.Errorf("it has no components")
	}
	return managedfields.NewTypeConverter(doc.Components.Schemas, false)
}
