package main

import (
	"fmt"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// nextMove says what to do about a condition that is False. Its message says what exactly is wrong.
func (d description) nextMove(reason string) string {
	if !d.DeletionTimestamp.IsZero() {
		return d.nextMoveOfDeletion()
	}
	switch reason {
	case v1alpha1.ReasonSourceFailed:
		return "mend what the message names; convoy tries again by itself. What runs stays, and a pin needs no source."
	case v1alpha1.ReasonRenderFailed:
		return "mend the files at the source. What runs stays, and a pin needs no source."
	case v1alpha1.ReasonDryRunFailed:
		return "mend the objects that the message names; convoy tries again by itself. Nothing was changed."
	case v1alpha1.ReasonPruneRefused:
		return "put the objects back at the source, or raise spec.prunePolicy.maxDeletes. Nothing was changed."
	case v1alpha1.ReasonPinned:
		return "pin a render that the store has, or unpin: " + unpinCommand(d.Name, d.target) +
			"\n      Those that it has: " + historyCommand(d.Name, d.target)
	case v1alpha1.ReasonRolledBack:
		return "mend the source, or try again: kubectl convoy release sync " + d.Name + " " + d.target +
			"\n      What that changes: " + diffCommand(d.Name, "", d.target)
	case v1alpha1.ReasonHookFailed:
		return joinNonEmpty("\n      ", "mend the hook at the source, or run it again: kubectl convoy release sync "+d.Name+" "+d.target, d.goBack())
	case v1alpha1.ReasonContested:
		return "stop whoever the message names, or leave the fields to them.\n      What convoy puts back: " + diffCommand(d.Name, "", d.target)
	case v1alpha1.ReasonDeployFailed, v1alpha1.ReasonTimedOut, v1alpha1.ReasonDegraded:
		return joinNonEmpty("\n      ", "mend what the message names; convoy goes on by itself.", d.goBack())
	}
	return ""
}

// nextMoveOfDeletion says what to do about what holds a deletion.
func (d description) nextMoveOfDeletion() string {
	if d.Status.Sync == nil || d.Status.Sync.Hook == "" {
		return "mend what the message names; convoy goes on by itself."
	}
	return fmt.Sprintf("run the hook again: kubectl convoy release sync %s %s\n      Or delete without hooks: kubectl annotate releases %s %s=%s %s",
		d.Name, d.target, d.Name, v1alpha1.DeletionHooksAnnotation, v1alpha1.DeletionHooksDisabled, d.target)
}

// goBack is the command that rolls back to the last healthy render; empty if there is none, or it is what fails.
func (d description) goBack() string {
	healthy, tried := d.Status.LastHealthy, d.Status.LastAttempted
	if healthy == nil || tried == nil || healthy.RenderRef == tried.RenderRef {
		return ""
	}
	return fmt.Sprintf("Or go back to the last healthy render: kubectl convoy release pin %s --render-ref %s %s\n      What that changes: %s",
		d.Name, short(healthy.RenderRef), d.target, diffCommand(d.Name, healthy.RenderRef, d.target))
}

// getCommand is what looks at a Release.
func getCommand(name, target string) string {
	return "kubectl convoy release get " + name + " " + target
}

// unpinCommand is what undoes a pin.
func unpinCommand(name, target string) string {
	return "kubectl convoy release unpin " + name + " " + target
}

// historyCommand is what lists the renders that a Release applied.
func historyCommand(name, target string) string {
	return "kubectl convoy release history " + name + " " + target
}

// diffCommand is what shows what a rollback to a render changes; without one, what the next apply changes.
func diffCommand(name, ref, target string) string {
	return joinNonEmpty(" ", "kubectl convoy release diff", name, prefixed("--render ", short(ref)), target)
}
