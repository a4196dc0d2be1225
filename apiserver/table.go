package apiserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// pinColumns are what kubectl get shows of a pin. Those with a priority are shown by -o wide only.
var pinColumns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "The Release."},
	{Name: "Render", Type: "string", Description: "The first 12 hex digits of the pinned render."},
	{Name: "Intent", Type: "string", Description: "What the pin does: freeze or rollback."},
	{Name: "Pinned-By", Type: "string", Description: "Who set the pin."},
	{Name: "Pinned-At", Type: "string", Description: "When."},
	{Name: "Expires-At", Type: "string", Description: "When the pin ends by itself."},
	{Name: "Reason", Type: "string", Description: "Why.", Priority: 1},
}

// ConvertToTable makes what kubectl get prints.
func (*pinStorage) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	pin, ok := obj.(*subresources.ReleasePin)
	if !ok {
		return nil, fmt.Errorf("print a pin: want a ReleasePin, got %T", obj)
	}
	table := &metav1.Table{Rows: []metav1.TableRow{{Cells: pinCells(pin), Object: runtime.RawExtension{Object: pin}}}}
	table.ResourceVersion = pin.ResourceVersion
	if o, ok := options.(*metav1.TableOptions); !ok || !o.NoHeaders {
		table.ColumnDefinitions = pinColumns
	}
	return table, nil
}

func pinCells(pin *subresources.ReleasePin) []any {
	spec := pin.Spec
	if spec == nil {
		return []any{pin.Name, "", "", "", "", "", ""}
	}
	return []any{
		pin.Name, shortRef(spec.RenderRef), string(pin.Status.Intent), pin.Status.PinnedBy, clock(pin.Status.PinnedAt), clock(spec.ExpiresAt),
		spec.Reason,
	}
}

// shortRef is the first 12 hex digits of a renderRef.
func shortRef(ref string) string {
	const digits = 12
	hex := strings.TrimPrefix(ref, "sha256:")
	return hex[:min(len(hex), digits)]
}

// clock is a time as people read it; empty for none.
func clock(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
