package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/klog/v2"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

const (
	// eventDeadline bounds how long the answer to a caller waits for an event.
	eventDeadline = 5 * time.Second

	// longestSaying is how many bytes one pin gets in the note of an event, which takes 1024.
	longestSaying = 500
)

// announceReplaced makes an event of a pin that took the place of another one, so that whoever set that one learns it. A pin that replaces
// none, and an unpin, are announced by convoy when it sees them. The pin is written already, so an event that cannot be made is no error.
func (r *releases) announceReplaced(ctx context.Context, before, after *subresources.ReleasePin) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eventDeadline)
	defer cancel()
	now := time.Now()
	host, _ := os.Hostname() // empty on a machine without a name
	note := saying(after) + "; before, " + saying(before)
	event := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: after.Namespace, Name: util.GenerateEventName(after.Name, now.UnixNano())},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: string(fieldManager),
		ReportingInstance:   cmp.Or(host, string(fieldManager)),
		Action:              "Pin",
		Reason:              v1alpha1.EventPinReplaced,
		Type:                corev1.EventTypeNormal,
		Note:                note,
		Regarding: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Release",
			Namespace: after.Namespace, Name: after.Name, UID: after.UID, ResourceVersion: after.ResourceVersion,
		},
	}
	if err := r.client.Create(ctx, event); err != nil {
		klog.FromContext(ctx).Error(err, "No event says that a pin was replaced", "namespace", after.Namespace, "name", after.Name, "note", note)
	}
}

// saying is who pinned what, when and why.
func saying(pin *subresources.ReleasePin) string {
	text := fmt.Sprintf("%s pinned render %s at %s: %s", pin.Status.PinnedBy, shortRef(pin.Spec.RenderRef), clock(pin.Status.PinnedAt),
		cmp.Or(pin.Spec.Reason, "no reason given"))
	if len(text) <= longestSaying {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:longestSaying-len(more)], "") + more
}
