package builtin

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/convoy-dev/convoy/live"
)

// Custom builds the schemas from the definition, as the server itself does.
func (Normalizer) Custom(crd *unstructured.Unstructured) (live.NormalKind, managedfields.TypeConverter, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, definition); err != nil {
		return nil, nil, fmt.Errorf("decode it: %w", err)
	}
	scheme.Default(definition)
	k := customKind{
		kind:    schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind},
		schemas: map[string]*structuralschema.Structural{},
	}
	var specs []*spec3.OpenAPI
	for _, version := range definition.Spec.Versions {
		structural, err := structuralOf(version)
		if err != nil {
			return nil, nil, fmt.Errorf("version %s: %w", version.Name, err)
		}
		k.schemas[version.Name] = structural
		if version.Storage {
			k.storage = version.Name
		}
		spec, err := builder.BuildOpenAPIV3(definition, version.Name, builder.Options{})
		if err != nil {
			return nil, nil, fmt.Errorf("version %s: %w", version.Name, err)
		}
		specs = append(specs, spec)
	}
	all, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		return nil, nil, err
	}
	converter, err := managedfields.NewTypeConverter(all.Components.Schemas, definition.Spec.PreserveUnknownFields)
	if err != nil {
		return nil, nil, err
	}
	return k, converter, nil
}

// structuralOf is the schema of a version; nil without one.
func structuralOf(version apiextensionsv1.CustomResourceDefinitionVersion) (*structuralschema.Structural, error) {
	if version.Schema == nil {
		return nil, nil
	}
	internal := &apiextensions.CustomResourceValidation{}
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, internal, nil)
	if err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	structural = structural.DeepCopy() // it shares defaults with the definition
	return structural, defaulting.PruneDefaults(structural)
}

// customKind is a kind of custom resources. Versions are converted as the server does without a webhook.
type customKind struct {
	kind    schema.GroupKind
	schemas map[string]*structuralschema.Structural // by version
	storage string                                  // the version in which the server stores objects
}

func (k customKind) New(version schema.GroupVersion) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(version.WithKind(k.kind.Kind))
	return obj, nil
}

// Normalize prunes and defaults by the schema of the version, and by that of the stored one.
func (k customKind) Normalize(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	normal := obj.DeepCopy()
	version := obj.GroupVersionKind().Version
	k.normalizeIn(version, normal)
	if k.storage != version {
		k.normalizeIn(k.storage, normal)
		k.normalizeIn(version, normal)
	}
	return normal, nil
}

// normalizeIn leaves alone what the server keeps outside of the schema.
func (k customKind) normalizeIn(version string, obj *unstructured.Unstructured) {
	structural := k.schemas[version]
	apiVersion, kind, metadata := obj.Object["apiVersion"], obj.Object["kind"], obj.Object["metadata"]
	pruning.Prune(obj.Object, structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj.Object, structural)
	defaulting.Default(obj.Object, structural)
	obj.Object["apiVersion"], obj.Object["kind"], obj.Object["metadata"] = apiVersion, kind, metadata
}

func (k customKind) Convert(obj *unstructured.Unstructured, version schema.GroupVersion) (*unstructured.Unstructured, error) {
	structural, ok := k.schemas[version.Version]
	if !ok || version.Group != k.kind.Group {
		return nil, fmt.Errorf("its CustomResourceDefinition has no version %s any more, which a manager in its managedFields wrote", version)
	}
	converted := obj.DeepCopy()
	converted.SetAPIVersion(version.String())
	pruning.Prune(converted.Object, structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(converted.Object, structural)
	return converted, nil
}
