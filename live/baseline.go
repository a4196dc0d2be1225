package live

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Suspicion is what the metadata of an object tells of drift.
type Suspicion int

// The suspicions.
const (
	// Clean: nobody changed a field that convoy applied. Its status, and so its health, may have moved.
	Clean Suspicion = iota
	// Suspect: somebody changed the object, and perhaps what convoy applied. Only a comparison can tell.
	Suspect
	// Drifted: somebody took, removed or rewrote a field that convoy applied, or deletes the object.
	Drifted
)

func (s Suspicion) String() string { return [...]string{"clean", "suspect", "drifted"}[s] }

// Baseline is what the metadata of an object was like when the object was as desired.
type Baseline struct {
	UID             types.UID
	ResourceVersion string
	Generation      int64

	trace               trace
	labels, annotations []string // the names of those that convoy set
	values              digest   // of them
}

// BaselineOf is the baseline of an object that is as desired. sent is what was applied to get it there.
func BaselineOf(obj, sent *unstructured.Unstructured) Baseline {
	meta := MetadataOf(obj)
	b := Baseline{
		UID: meta.UID, labels: slices.Sorted(maps.Keys(sent.GetLabels())), annotations: slices.Sorted(maps.Keys(sent.GetAnnotations())),
	}
	return b.Moved(meta)
}

// Judge tells from metadata, in the form of Compact, whether somebody changed the object since. A change of the same fields to other
// values by another process with convoy's name, in the same second, goes unnoticed where nothing else moves.
func (b Baseline) Judge(meta *metav1.ObjectMeta) Suspicion {
	now := traceOf(meta)
	switch {
	case meta.UID != b.UID, meta.DeletionTimestamp != nil, now.own != b.trace.own:
		return Drifted
	case b.valuesIn(meta) != b.values:
		return Drifted
	case meta.Generation != b.Generation, now.foreign != b.trace.foreign:
		return Suspect
	case meta.Generation == 0 && meta.ResourceVersion != b.ResourceVersion && now.all == b.trace.all:
		return Suspect
	}
	return Clean
}

// Moved is the baseline of the same object at later metadata that was judged, or found, to be clean.
func (b Baseline) Moved(meta *metav1.ObjectMeta) Baseline {
	b.ResourceVersion, b.Generation, b.trace, b.values = meta.ResourceVersion, meta.Generation, traceOf(meta), b.valuesIn(meta)
	return b
}

// MetadataOf is the metadata of an object that Judge looks at, in the form of Compact.
func MetadataOf(obj *unstructured.Unstructured) *metav1.ObjectMeta {
	meta := &metav1.ObjectMeta{
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
		DeletionTimestamp: obj.GetDeletionTimestamp(), Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
		ManagedFields: obj.GetManagedFields(),
	}
	Compact(meta)
	return meta
}

// Compact replaces in metadata what Judge only compares by digests, and drops what it does not look at. What is compact stays as it is.
func Compact(meta *metav1.ObjectMeta) {
	if isCompact(meta) {
		return
	}
	meta.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsType: compacted, FieldsV1: traceOf(meta).encode()}}
	annotations := meta.Annotations
	meta.Annotations, meta.OwnerReferences, meta.Finalizers = nil, nil, nil
	for name, value := range annotations {
		d := digestOf(value)
		metav1.SetMetaDataAnnotation(meta, name, string(d[:]))
	}
}

// compacted marks, as the type of its fields, the only entry of managedFields in compact metadata.
const compacted = "digests"

func isCompact(meta *metav1.ObjectMeta) bool {
	return len(meta.ManagedFields) == 1 && meta.ManagedFields[0].FieldsType == compacted
}

// trace is what is left of the managedFields: digests of convoy's own entry, of those of others except for the status, and of all.
type trace struct{ own, foreign, all digest }

func (t trace) encode() *metav1.FieldsV1 {
	return metav1.NewFieldsV1(string(slices.Concat(t.own[:], t.foreign[:], t.all[:])))
}

// traceOf reads the trace of metadata.
func traceOf(meta *metav1.ObjectMeta) trace {
	var t trace
	if isCompact(meta) {
		encoded := meta.ManagedFields[0].FieldsV1.GetRawBytes()
		for i, d := range []*digest{&t.own, &t.foreign, &t.all} {
			copy(d[:], encoded[i*len(d):])
		}
		return t
	}
	var own, foreign, all []digest
	for _, e := range meta.ManagedFields {
		entry := digestOfEntry(e)
		all = append(all, entry)
		if IsOurs(e) {
			own = append(own, entry)
		} else if e.Subresource != "status" {
			foreign = append(foreign, entry)
		}
	}
	return trace{join(own), join(foreign), join(all)}
}

// valuesIn is the digest of the values that the labels and annotations that convoy set have in compact metadata.
func (b Baseline) valuesIn(meta *metav1.ObjectMeta) digest {
	var values []string
	add := func(from map[string]string, names []string) {
		for _, name := range names {
			if value, ok := from[name]; ok {
				values = append(values, name, value)
			}
		}
	}
	add(meta.Labels, b.labels)
	add(meta.Annotations, b.annotations)
	return digestOf(values...)
}

// digestOfEntry is the digest of an entry of managedFields. The fields count in a form of their own, since the bytes in which a server
// writes them and those of an object that was read differ.
func digestOfEntry(e metav1.ManagedFieldsEntry) digest {
	var written, fields string
	if e.Time != nil {
		written = e.Time.UTC().String()
	}
	if e.FieldsV1 != nil {
		fields = e.FieldsV1.GetRawString()
	}
	if set, err := fieldsOf(e); err == nil {
		if canonical, err := set.ToJSON(); err == nil {
			fields = string(canonical)
		}
	}
	return digestOf(e.Manager, string(e.Operation), e.APIVersion, e.Subresource, written, fields)
}

// digest is the start of a SHA-256.
type digest [8]byte

func digestOf(parts ...string) digest {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return digest(h.Sum(nil)[:8])
}

// join is the digest of digests; that of none is zero.
func join(digests []digest) digest {
	if len(digests) == 0 {
		return digest{}
	}
	parts := make([]string, 0, len(digests))
	for _, d := range digests {
		parts = append(parts, string(d[:]))
	}
	return digestOf(parts...)
}
