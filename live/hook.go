package live

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/render"
)

// Hook is an object of a render that runs at events of a rollout or of the deletion, instead of being applied with the waves.
type Hook struct {
	Object         *unstructured.Unstructured
	Weight         int32 // lower ones run first
	DeleteWhenDone bool  // it is deleted once the rollout has succeeded

	events []hookEvent
}

// hookEvent is when a hook runs. The zero value is never.
type hookEvent struct {
	name string
	only Rollout // 0 for all
}

// Rollout is what a rollout is in the words of Helm, which has hooks for each.
type Rollout int

// The rollouts.
const (
	Install  Rollout = iota + 1 // no render of the Release was applied in full yet
	Upgrade                     // one was, and this one is what the source renders
	Rollback                    // a pin or failurePolicy brings this one back
)

// Runs says whether the hook runs at an event (v1alpha1.HookPreSync and so on), in a rollout.
func (h Hook) Runs(event string, rollout Rollout) bool {
	return slices.ContainsFunc(h.events, func(e hookEvent) bool { return e.name == event && (e.only == 0 || e.only == rollout) })
}

// hookDialect is how one tool writes hooks.
type hookDialect struct {
	annotation, policies string
	events               map[string]hookEvent
	deletes              map[string]bool // the delete policies, and whether they delete what is done
	fold                 bool            // upper and lower case are the same
}

var deletePolicies = map[string]bool{v1alpha1.HookBeforeCreation: false, v1alpha1.HookSucceeded: true, v1alpha1.HookFailed: false}

// hookEvents are the events, in convoy's words, which Argo CD has too.
var hookEvents = []string{
	v1alpha1.HookPreSync, v1alpha1.HookPostSync, v1alpha1.HookSyncFail, v1alpha1.HookPreDelete, v1alpha1.HookPostDelete,
}

func alwaysAt(events ...string) map[string]hookEvent {
	words := map[string]hookEvent{}
	for _, event := range events {
		words[event] = hookEvent{name: event}
	}
	return words
}

// hookDialects are what convoy reads; the first one that an object speaks counts.
var hookDialects = []hookDialect{
	{
		annotation: v1alpha1.HookAnnotation, policies: v1alpha1.HookDeletePolicyAnnotation, deletes: deletePolicies,
		events: alwaysAt(hookEvents...),
	},
	{
		annotation: v1alpha1.ArgoHookAnnotation, policies: v1alpha1.ArgoHookDeletePolicyAnnotation, deletes: deletePolicies,
		events: alwaysAt(append(slices.Clone(hookEvents), "Skip")...), // an event that never comes
	},
	{
		annotation: v1alpha1.HelmHookAnnotation, policies: v1alpha1.HelmHookDeletePolicyAnnotation, fold: true,
		deletes: map[string]bool{"before-hook-creation": false, "hook-succeeded": true, "hook-failed": false},
		events: map[string]hookEvent{
			"pre-install": {v1alpha1.HookPreSync, Install}, "post-install": {v1alpha1.HookPostSync, Install},
			"pre-upgrade": {v1alpha1.HookPreSync, Upgrade}, "post-upgrade": {v1alpha1.HookPostSync, Upgrade},
			"pre-rollback": {v1alpha1.HookPreSync, Rollback}, "post-rollback": {v1alpha1.HookPostSync, Rollback},
			"pre-delete": {name: v1alpha1.HookPreDelete}, "post-delete": {name: v1alpha1.HookPostDelete},
			"test": {}, "test-success": {}, "test-failure": {}, "crd-install": {},
		},
	},
}

// HookOf reads the annotations that make an object a hook; nil if it is none. The error names the annotation that is malformed.
func HookOf(obj *unstructured.Unstructured) (*Hook, error) {
	annotations := obj.GetAnnotations()
	for _, dialect := range hookDialects {
		value, ok := annotations[dialect.annotation]
		switch {
		case !ok:
			continue
		case dialect.annotation == v1alpha1.ArgoHookAnnotation && strings.TrimSpace(value) == "Sync": // it is applied as all others are
			return nil, nil
		}
		hook := &Hook{Object: obj}
		for _, word := range dialect.words(value) {
			event, known := dialect.events[word]
			if !known {
				return nil, malformed(dialect.annotation, word, dialect.events)
			}
			hook.events = append(hook.events, event)
		}
		if len(hook.events) > 1 && hook.Runs(v1alpha1.HookSyncFail, Upgrade) {
			return nil, fmt.Errorf("annotation %s: %s cannot be joined with another event: make it an object of its own", dialect.annotation,
				v1alpha1.HookSyncFail)
		}
		if err := hook.readRest(dialect); err != nil {
			return nil, err
		}
		return hook, nil
	}
	return nil, nil
}

// words are the words of a list.
func (d hookDialect) words(value string) []string {
	var words []string
	for word := range strings.SplitSeq(value, ",") {
		word = strings.TrimSpace(word)
		if d.fold {
			word = strings.ToLower(word)
		}
		words = append(words, word)
	}
	return words
}

func malformed[V any](annotation, word string, known map[string]V) error {
	return fmt.Errorf("annotation %s: %q is none of %s", annotation, word, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}

// readRest reads the weight and the delete policies.
func (h *Hook) readRest(spoken hookDialect) (err error) {
	annotations := h.Object.GetAnnotations()
	_, own := annotations[v1alpha1.SyncWaveAnnotation]
	_, argo := annotations[v1alpha1.ArgoSyncWaveAnnotation]
	weight, ok := annotations[v1alpha1.HelmHookWeightAnnotation]
	if ok && !own && !argo && spoken.annotation == v1alpha1.HelmHookAnnotation {
		parsed, err := strconv.ParseInt(strings.TrimSpace(weight), 10, 32)
		if err != nil {
			return fmt.Errorf("annotation %s: %q is not an integer of 32 bits", v1alpha1.HelmHookWeightAnnotation, weight)
		}
		h.Weight = int32(parsed)
	} else if h.Weight, err = WaveOf(h.Object); err != nil {
		return err
	}
	for _, dialect := range hookDialects {
		value, ok := annotations[dialect.policies]
		if !ok {
			continue
		}
		for _, word := range dialect.words(value) {
			deletes, known := dialect.deletes[word]
			if !known {
				return malformed(dialect.policies, word, dialect.deletes)
			}
			h.DeleteWhenDone = h.DeleteWhenDone || deletes
		}
		break
	}
	return nil
}

// hookRunDigits is how many hex digits the name of a run has.
const hookRunDigits = 10

// HookName is the name of the object of a hook that has generateName, in a run: its prefix, cut so that it fits a label, and the run.
func HookName(prefix, run string) string {
	const longest = 63
	return prefix[:min(len(prefix), longest-hookRunDigits)] + run
}

// HookSet are the identities of the hooks of a render, as live objects have them.
type HookSet struct {
	named    map[render.ObjectID]bool
	prefixes map[render.ObjectID]bool // names without the run
}

// Add adds a hook in the namespace that it has in the cluster.
func (s *HookSet) Add(obj *unstructured.Unstructured) {
	if s.named == nil {
		s.named, s.prefixes = map[render.ObjectID]bool{}, map[render.ObjectID]bool{}
	}
	id := render.IDOf(obj)
	if obj.GetName() == "" {
		id.Name = HookName(obj.GetGenerateName(), "")
		s.prefixes[id] = true
		return
	}
	s.named[id] = true
}

// Has says whether an object is one of the hooks, of whatever run.
func (s *HookSet) Has(id render.ObjectID) bool {
	if s.named[id] {
		return true
	}
	cut := len(id.Name) - hookRunDigits
	if cut < 0 {
		return false
	}
	if _, err := hex.DecodeString(id.Name[cut:]); err != nil {
		return false
	}
	id.Name = id.Name[:cut]
	return s.prefixes[id]
}

// AssessHook computes how far a live hook is: Healthy if it is complete. Other than in a wave, a Pod has to end.
func AssessHook(obj *unstructured.Unstructured) Health {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Pod"}) {
		return Assess(obj)
	}
	health := Health{ID: render.IDOf(obj), Verdict: Progressing, Message: "Pod has not ended"}
	switch phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase"); corev1.PodPhase(phase) {
	case corev1.PodSucceeded:
		health.Verdict, health.Message = Healthy, "Pod has succeeded"
	case corev1.PodFailed:
		health.Verdict, health.Message = Failed, "Pod has failed"
	}
	return health
}
