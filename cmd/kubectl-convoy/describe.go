package main

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// section is one subject of a description: a heading, and lines beside it.
type section struct {
	heading string
	lines   []line
}

// line is text in a color. It may have line breaks.
type line struct {
	color color
	text  string
}

// description is a Release that is being described.
type description struct {
	*v1alpha1.Release
	now    time.Time
	target string // the flags that name the cluster and the namespace, for commands to copy
}

// describe tells people how a Release is doing.
func describe(release *v1alpha1.Release, now time.Time, target string, p painter) string {
	d := description{release, now, target}
	sections := []section{d.ready(), d.source(), d.runs(), d.health(), d.pin(), d.awaited()}
	for _, condition := range []string{v1alpha1.ConditionRendered, v1alpha1.ConditionApplied, v1alpha1.ConditionHealthy} {
		sections = append(sections, d.failed(condition))
	}
	var b strings.Builder
	for _, s := range sections {
		heading := s.heading
		for _, l := range s.lines {
			for text := range strings.SplitSeq(l.text, "\n") {
				fmt.Fprintf(&b, "%-10s%s\n", heading, p.paint(l.color, text))
				heading = ""
			}
		}
	}
	return b.String()
}

// say makes a line without a color.
func say(format string, args ...any) line { return line{plain, fmt.Sprintf(format, args...)} }

func (d description) ready() section {
	s := section{"Release", []line{say("%s in namespace %s", d.Name, d.Namespace)}}
	switch statusOf(d.Release, v1alpha1.ConditionReady) {
	case metav1.ConditionTrue:
		s.lines = append(s.lines, line{green, "ready"})
	case metav1.ConditionFalse:
		s.lines = append(s.lines, line{red, "not ready"})
	default:
		s.lines = append(s.lines, line{yellow, "not ready yet"})
	}
	if !d.DeletionTimestamp.IsZero() {
		s.lines = append(s.lines, line{yellow, "being deleted since " + d.when(*d.DeletionTimestamp)})
	}
	return s
}

func (d description) source() section {
	s := section{heading: "Source"}
	switch source := d.Spec.Source; {
	case source.Git != nil:
		s.lines = []line{say("%s", joinNonEmpty(", ", source.Git.URL, refOf(source.Git.Ref), prefixed("folder ", source.Git.Path)))}
	case source.OCI != nil:
		ref := source.OCI.Ref
		named := joinNonEmpty(", ", prefixed("tag ", ref.Tag), prefixed("semver ", ref.Semver), prefixed("digest ", ref.Digest))
		s.lines = []line{say("%s", joinNonEmpty(", ", source.OCI.URL, named, prefixed("folder ", source.OCI.Path)))}
	case source.Helm != nil:
		s.lines = []line{say("%s", joinNonEmpty(", ", source.Helm.URL, "chart "+source.Helm.Chart, prefixed("version ", source.Helm.Version)))}
	case source.Archive != nil:
		digest := prefixed("digest ", source.Archive.Digest)
		s.lines = []line{say("%s", joinNonEmpty(", ", source.Archive.URL, digest, prefixed("folder ", source.Archive.Path)))}
	case source.From != nil:
		s.lines = []line{say("%s", joinNonEmpty(", ", string(source.From.Kind)+" "+source.From.Name, prefixed("folder ", source.From.Path)))}
	}
	if d.Spec.SyncPolicy.Mode == v1alpha1.SyncManual {
		s.lines = append(s.lines, say("a new render waits for: kubectl convoy release sync %s %s", d.Name, d.target),
			say("what a sync changes: %s", diffCommand(d.Name, "", d.target)))
	}
	if d.Spec.Suspend {
		s.lines = append(s.lines, line{yellow, "not followed, since spec.suspend is true"})
	}
	return s
}

// refOf says what selects the commit.
func refOf(ref v1alpha1.GitRef) string {
	return joinNonEmpty(", ",
		prefixed("branch ", ref.Branch), prefixed("tag ", ref.Tag), prefixed("semver ", ref.Semver), prefixed("commit ", ref.Commit))
}

func (d description) runs() section {
	s := section{heading: "Runs"}
	last := d.Status.LastSuccessful
	if last == nil {
		s.lines = []line{{yellow, "nothing was applied in full yet"}}
		return s
	}
	s.lines = []line{say("render %s since %s", short(last.RenderRef), d.when(last.Time))}
	if last.Revision != "" {
		s.lines = append(s.lines, say("revision %s", last.Revision))
	}
	s.lines = append(s.lines, say("%s", last.RenderRef))
	if tried := d.Status.LastAttempted; tried != nil && tried.RenderRef != last.RenderRef {
		s.lines = append(s.lines, line{yellow, fmt.Sprintf("partly render %s, which was begun %s", short(tried.RenderRef), d.when(tried.Time))})
	}
	if healthy := d.Status.LastHealthy; healthy != nil && healthy.RenderRef != last.RenderRef {
		s.lines = append(s.lines, say("last healthy: %s, %s", healthy.RenderRef, d.when(healthy.Time)))
	}
	return s
}

func (d description) health() section {
	s := section{heading: "Health"}
	healthy := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionHealthy)
	switch {
	case healthy == nil:
		s.lines = []line{{yellow, "not known yet"}}
	case healthy.Status == metav1.ConditionTrue:
		s.lines = []line{{green, "healthy"}, say("since %s", d.when(healthy.LastTransitionTime))}
	case healthy.Status == metav1.ConditionFalse:
		s.lines = []line{{red, "not healthy since " + d.when(healthy.LastTransitionTime)}}
	default:
		s.lines = []line{{yellow, "not known to be healthy: " + healthy.Message}}
	}
	return s
}

func (d description) pin() section {
	s := section{heading: "Pin"}
	pin := d.Pin
	if pin == nil {
		s.lines = []line{say("none: the Release follows its source")}
		return s
	}
	intent := subresources.PinOf(d.Release).Status.Intent
	s.lines = []line{{yellow, fmt.Sprintf("%s on render %s by %s, %s", intent, short(pin.RenderRef), pin.PinnedBy, d.when(pin.PinnedAt))}}
	if pin.Reason != "" {
		s.lines = append(s.lines, say("why: %s", pin.Reason))
	}
	switch {
	case pin.ExpiresAt == nil:
		s.lines = append(s.lines, say("until somebody unpins it: %s", unpinCommand(d.Name, d.target)))
	case pin.Expired(d.now):
		s.lines = append(s.lines, line{yellow, "ended " + d.when(*pin.ExpiresAt) + "; convoy takes it off in its next pass"})
	default:
		s.lines = append(s.lines, say("until %s, or somebody unpins it: %s", d.when(*pin.ExpiresAt), unpinCommand(d.Name, d.target)))
	}
	if intent == v1alpha1.PinRollback {
		s.lines = append(s.lines, say("%s", pin.RenderRef))
	}
	return s
}

// awaited is what convoy waits for now.
func (d description) awaited() section {
	s := section{heading: "Awaited"}
	if d.Status.ObservedGeneration != d.Generation {
		s.lines = append(s.lines, line{yellow, "convoy has not looked at the last change of the Release yet"})
	}
	for _, condition := range []string{v1alpha1.ConditionRendered, v1alpha1.ConditionApplied, v1alpha1.ConditionHealthy} {
		c := meta.FindStatusCondition(d.Status.Conditions, condition)
		if c == nil || c.Status == metav1.ConditionTrue {
			continue
		}
		if c.Status == metav1.ConditionUnknown {
			s.lines = append(s.lines, line{yellow, c.Message})
			if sync := d.Status.Sync; sync != nil {
				s.lines = append(s.lines, line{yellow, "since " + d.when(sync.StartedAt)})
			}
		}
		break // what comes after waits for this
	}
	return s
}

// failed is what a condition says is wrong, and what to do about it.
func (d description) failed(condition string) section {
	c := meta.FindStatusCondition(d.Status.Conditions, condition)
	if c == nil || c.Status != metav1.ConditionFalse {
		return section{}
	}
	s := section{"Failed", []line{
		{red, fmt.Sprintf("%s: %s, since %s", condition, c.Reason, d.when(c.LastTransitionTime))},
		say("%s", c.Message),
	}}
	if next := d.nextMove(c.Reason); next != "" {
		s.lines = append(s.lines, say("next: %s", next))
	}
	return s
}

// when says a time, and how far it is from now.
func (d description) when(at metav1.Time) string {
	return fmt.Sprintf("%s (%s)", at.UTC().Format(time.DateTime+" MST"), relative(at.Time, d.now))
}
