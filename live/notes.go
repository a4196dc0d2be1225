package live

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// notes say what a prediction leaves open.
func (d *diff) notes(item *diffItem, m merger, c *Change) []string {
	var notes []string
	kind := item.gvk.GroupKind()
	if item.untried != "" {
		notes = append(notes, item.untried)
	} else if d.changed[kind] {
		notes = append(notes, SchemaChanges)
	}
	if m.normal == nil {
		notes = append(notes, "what the server itself sets in this kind is not known, and is left out")
	}
	if m.webhook {
		notes = append(notes, "a webhook converts the versions of this kind, which was not asked")
	}
	if item.live == nil {
		return append(notes, setByServer(kind, c.Next)...)
	}
	if !d.Owner.Owns(item.live) {
		notes = append(notes, "it exists, is not this Release's yet, and would be taken over")
	} else if c.Live == nil {
		notes = append(notes, "its owner labels were taken off, so what it is now is not shown")
	}
	if !item.live.GetDeletionTimestamp().IsZero() {
		notes = append(notes, "it is being deleted")
	}
	if c.Live == nil {
		return notes
	}
	if kind == serviceKind && serviceType(c.Live) != serviceType(c.Next) {
		notes = append(notes, "the server sets or drops cluster IPs and node ports as the type changes")
	}
	return append(notes, d.frozenNotes(item, c)...)
}

// frozenNotes say what becomes of an object with fields that would be changed and cannot be.
func (d *diff) frozenNotes(item *diffItem, c *Change) []string {
	kind := item.gvk.GroupKind()
	fields := frozen(kind, c.Live, c.Next)
	if len(fields) == 0 {
		return nil
	}
	outcome := "the server refuses this; delete the object first, leave the field, or give the object the annotation " +
		v1alpha1.ForceAnnotation + ": " + v1alpha1.ForceEnabled
	var notes []string
	kept := KeptFromForce(d.Owner, item.desired, item.live)
	switch {
	case kept != "":
		outcome = "the server refuses this; leave the field. The object is not deleted to be created anew: " + kept
	case Forced(item.desired):
		outcome = "the object is deleted and created anew"
		notes = setByServer(kind, c.Next)
	}
	for _, field := range fields {
		notes = append(notes, fmt.Sprintf("%s of a %s cannot be changed: %s", field, kind.Kind, outcome))
	}
	return notes
}

var (
	serviceKind = schema.GroupKind{Kind: "Service"}
	configKind  = schema.GroupKind{Kind: "ConfigMap"}
	jobKind     = schema.GroupKind{Group: "batch", Kind: "Job"}
)

func serviceType(obj *unstructured.Unstructured) string {
	t, _, _ := unstructured.NestedString(obj.Object, "spec", "type")
	return t
}

// setByServer says what the server adds to an object of a kind when it is created, besides its defaults.
func setByServer(kind schema.GroupKind, next *unstructured.Unstructured) []string {
	switch kind {
	case serviceKind:
		switch serviceType(next) {
		case "ExternalName":
			return nil
		case "NodePort", "LoadBalancer":
			return []string{"the server sets its cluster IPs, IP families and node ports"}
		}
		return []string{"the server sets its cluster IPs and IP families"}
	case jobKind:
		return []string{"the server sets its selector, and labels of its template"}
	case pvcKind:
		return []string{"the server sets a finalizer, and the default storage class if it names none"}
	case NamespaceKind:
		return []string{"the server sets its finalizer and a label with its name"}
	}
	return nil
}

// frozenFields are fields that cannot be changed once an object is there, by kind. The server decides: a field that is not here may be
// refused too.
var frozenFields = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}: {"spec.selector"},
	{Group: "apps", Kind: "DaemonSet"}:  {"spec.selector"},
	{Group: "apps", Kind: "ReplicaSet"}: {"spec.selector"},
	jobKind:                             {"spec.selector", "spec.template", "spec.completionMode", "spec.podFailurePolicy", "spec.backoffLimitPerIndex"},
	serviceKind:                         {"spec.clusterIP"},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        {"roleRef"},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: {"roleRef"},
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                  {"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:              {"value", "preemptionPolicy"},
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                     {"handler"},
	{Group: "networking.k8s.io", Kind: "IngressClass"}:               {"spec.controller"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:               {"addressType"},
	CRDKind:    {"spec.group", "spec.scope", "spec.names.plural", "spec.names.kind"},
	SecretKind: {"type"},
}

// changeable are the fields of a spec that can be changed, of kinds whose other fields cannot.
var changeable = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "StatefulSet"}: {
		"replicas", "ordinals", "template", "updateStrategy", "persistentVolumeClaimRetentionPolicy", "minReadySeconds", "revisionHistoryLimit",
	},
	pvcKind:       {"resources", "volumeAttributesClassName"},
	{Kind: "Pod"}: {"containers", "initContainers", "activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations"},
}

// frozen are the fields that would be changed and cannot be.
func frozen(kind schema.GroupKind, live, next *unstructured.Unstructured) []string {
	fields := slices.Clone(frozenFields[kind])
	if immutable, _, _ := unstructured.NestedBool(live.Object, "immutable"); immutable && (kind == configKind || kind == SecretKind) {
		fields = append(fields, "immutable", "data", "binaryData")
	}
	if allowed, ok := changeable[kind]; ok {
		for _, obj := range []*unstructured.Unstructured{live, next} {
			spec, _, _ := unstructured.NestedMap(obj.Object, "spec")
			for name := range spec {
				if !slices.Contains(allowed, name) && !slices.Contains(fields, "spec."+name) {
					fields = append(fields, "spec."+name)
				}
			}
		}
		slices.Sort(fields)
	}
	return slices.DeleteFunc(fields, func(field string) bool {
		path := strings.Split(field, ".")
		was, _, _ := unstructured.NestedFieldNoCopy(live.Object, path...)
		is, _, _ := unstructured.NestedFieldNoCopy(next.Object, path...)
		return reflect.DeepEqual(was, is)
	})
}
