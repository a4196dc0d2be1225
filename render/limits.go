package render

import (
	"errors"
	"fmt"
)

// A render that would be larger is an error.
const (
	// MaxBytes is the most bytes that an encoded render may have: 32 MiB.
	MaxBytes = 32 << 20

	// MaxObjects is the most objects that a render may have.
	MaxObjects = 20_000
)

// What a build reads and parses is limited too, so that no source can exhaust the memory or the time of all others.
const (
	// maxInputBytes is the most bytes that one build reads.
	maxInputBytes = 64 << 20

	// maxDocumentBytes is the most bytes of one document, with its aliases written out. It is more than the API server accepts for
	// one object.
	maxDocumentBytes = 4 << 20

	// maxSchemaBytes is the most bytes of an OpenAPI schema or of definitions for kustomize. That of a whole cluster is less.
	maxSchemaBytes = 16 << 20

	// maxDefinitionPaths is how many fields the definitions of custom resources may have, counted along all references.
	maxDefinitionPaths = 100_000

	// maxDepth is how deep mappings and lists may be nested. The time of kustomize grows with its square.
	maxDepth = 128

	// maxKustomizeObjects is the most documents that a kustomization reads. The time of kustomize grows with its square.
	maxKustomizeObjects = 5_000

	// maxKustomizations is the most kustomizations that a build reads, each as often as it is named. Without it, kustomizations that
	// name the next two, level by level, would never end.
	maxKustomizations = 2_000

	// maxChartFiles is the most files of a chart, those in its archives aside.
	maxChartFiles = 10_000

	// maxCopied is the most bytes that the copy operations of one JSON patch add to an object. Without a limit, twenty of them that copy what
	// the one before made take all memory.
	maxCopied = 256 << 10

	// maxKustomizeNodes is the most YAML nodes that a kustomization reads, at about 700 bytes of memory each.
	maxKustomizeNodes = 1_000_000
)

var (
	errTooDeep     = fmt.Errorf("mappings and lists are nested deeper than %d levels", maxDepth)
	errTooLarge    = fmt.Errorf("has more bytes than the limit of %d MiB for one document: split it", maxDocumentBytes>>20)
	errInputLimit  = fmt.Errorf("the build reads more than the limit of %d MiB: split the Release", maxInputBytes>>20)
	errObjectLimit = fmt.Errorf("the render has more objects than the limit of %d: split the Release", MaxObjects)
	errByteLimit   = fmt.Errorf("the render has more bytes than the limit of %d MiB: split the Release", MaxBytes>>20)

	errKustomizationLimit = fmt.Errorf("the build reads more kustomizations than the limit of %d: split the Release", maxKustomizations)
	errKustomizeObjects   = fmt.Errorf("the kustomization reads more objects than the limit of %d: split the Release", maxKustomizeObjects)
	errKustomizeNodes     = fmt.Errorf("the kustomization reads more YAML than the limit of %d values: split the Release", maxKustomizeNodes)

	errOutput = fmt.Errorf("it makes more than %d MiB", maxOutput>>20)

	errChartFiles = fmt.Errorf("the chart has more files than the limit of %d: name those that it does not need in .helmignore", maxChartFiles)

	errContainsSelf = errors.New("an anchor contains itself")
)
