package main

import (
	"bytes"
	"cmp"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// none stands for a cell without a value, as in kubectl.
const none = "<none>"

// tableOptions are how a table is written.
type tableOptions struct {
	now        time.Time
	namespaces bool
	wide       bool
	painter    painter
}

// columns are the columns of the table, without the namespace. Those with a priority are in the wide table only.
var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string"},
	{Name: "Ready", Type: "string"},
	{Name: "Applied", Type: "string"},
	{Name: "Render", Type: "string"},
	{Name: "Revision", Type: "string"},
	{Name: "Pin", Type: "string"},
	{Name: "Age", Type: "string"},
	{Name: "Pinned By", Type: "string", Priority: 1},
	{Name: "Reason", Type: "string", Priority: 1},
	{Name: "Expires", Type: "string", Priority: 1},
	{Name: "Message", Type: "string", Priority: 1},
}

// writeTable writes one line for each Release; on a terminal in the color of Ready.
func writeTable(w io.Writer, releases []*v1alpha1.Release, o tableOptions) error {
	table := &metav1.Table{ColumnDefinitions: columns}
	for _, release := range releases {
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells(release, o.now), Object: runtime.RawExtension{Object: release}})
	}
	var text bytes.Buffer
	printer := printers.NewTablePrinter(printers.PrintOptions{WithNamespace: o.namespaces, Wide: o.wide})
	if err := printer.PrintObj(table, &text); err != nil {
		return err
	}
	header, lines, _ := strings.Cut(text.String(), "\n")
	painted := []string{header}
	for i, line := range strings.Split(strings.TrimSuffix(lines, "\n"), "\n") {
		painted = append(painted, o.painter.paint(colorOf(statusOf(releases[i], v1alpha1.ConditionReady)), line))
	}
	_, err := io.WriteString(w, strings.Join(painted, "\n")+"\n")
	return err
}

// cells are the cells of a Release.
func cells(release *v1alpha1.Release, now time.Time) []any {
	var revision, message string
	if last := release.Status.LastSuccessful; last != nil {
		revision = last.Revision
	}
	if ready := meta.FindStatusCondition(release.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		message = ready.Message
	}
	var by, reason, expires string
	if pin := release.Pin; pin != nil {
		by, reason = pin.PinnedBy, pin.Reason
		expires = "never"
		if pin.ExpiresAt != nil {
			expires = relative(pin.ExpiresAt.Time, now)
		}
	}
	row := []string{
		release.Name,
		string(statusOf(release, v1alpha1.ConditionReady)),
		string(statusOf(release, v1alpha1.ConditionApplied)),
		release.Status.Render,
		revision,
		string(subresources.PinOf(release).Status.Intent),
		duration.HumanDuration(now.Sub(release.CreationTimestamp.Time)),
		by, reason, expires, message,
	}
	filled := make([]any, len(row))
	for i, cell := range row {
		filled[i] = cmp.Or(cell, none)
	}
	return filled
}

// statusOf is the status of a condition: Unknown if convoy has not said anything yet.
func statusOf(release *v1alpha1.Release, condition string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(release.Status.Conditions, condition); c != nil {
		return c.Status
	}
	return metav1.ConditionUnknown
}

// colorOf is the color of what a condition says: the usual has none.
func colorOf(status metav1.ConditionStatus) color {
	switch status {
	case metav1.ConditionTrue:
		return plain
	case metav1.ConditionFalse:
		return red
	default:
		return yellow
	}
}

// relative says how far a time is from now.
func relative(at, now time.Time) string {
	if at.After(now) {
		return "in " + duration.HumanDuration(at.Sub(now))
	}
	return duration.HumanDuration(now.Sub(at)) + " ago"
}
