package main

import (
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// releaseColumns are the columns of the table of Releases, without the namespace. Those with a priority are in the wide table only.
var releaseColumns = []metav1.TableColumnDefinition{
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
	rows := make([]row, len(releases))
	for i, release := range releases {
		rows[i] = row{colorOf(statusOf(release, v1alpha1.ConditionReady)), cells(release, o.now), release}
	}
	return writeRows(w, releaseColumns, rows, o)
}

// cells are the cells of a Release.
func cells(release *v1alpha1.Release, now time.Time) []string {
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
	return []string{
		release.Name,
		string(statusOf(release, v1alpha1.ConditionReady)),
		string(statusOf(release, v1alpha1.ConditionApplied)),
		release.Status.Render,
		revision,
		string(subresources.PinOf(release).Status.Intent),
		duration.HumanDuration(now.Sub(release.CreationTimestamp.Time)),
		by, reason, expires, message,
	}
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

// relative says how far a time is from now. Who asks for 7d is told 7d, though a moment of it has passed by now.
func relative(at, now time.Time) string {
	if left := at.Sub(now); left > time.Hour {
		return "in " + duration.HumanDuration(left.Round(time.Minute))
	} else if left > 0 {
		return "in " + duration.HumanDuration(left.Round(time.Second))
	}
	return duration.HumanDuration(now.Sub(at)) + " ago"
}
