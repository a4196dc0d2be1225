package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// pinOptions are the flags of pin.
type pinOptions struct {
	*cli
	waitOptions
	output    *output
	renderRef string
	reason    string
	expiresIn span
	yes       bool
	dryRun    string
}

func newPin(c *cli) *cobra.Command {
	o := &pinOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "pin NAME",
		Short: "Hold a Release on one render: freeze it, or roll it back",
		Long: `Hold a Release on one render, whatever its source renders, until it is unpinned.

Without --render-ref it is held on the render that was last applied in full: a freeze. With another render it is a rollback: convoy reads
that render from the render store and applies it, without the source. A render is sha256: and 64 hex digits; of a render that the status
or the history of the Release names, the first 8 digits or more will do. About any other it asks before it pins, since the store may not have
it. "kubectl convoy release diff NAME --render REF" shows first what a rollback changes.

A pin is applied at once, also where the last deploy hangs or the Release is suspended. A pin that is there already is replaced.

` + exitCodes,
		Example: `  # Freeze on what was last applied in full
  kubectl convoy release pin podinfo --reason "INC-1234"

  # Roll back for a day, and wait until it is applied
  kubectl convoy release pin podinfo --render-ref 3a5f0c9be1d2 --reason "INC-1234" --expires-in 24h --wait

  # See first what a rollback would change, and whether the server would take the pin
  kubectl convoy release diff podinfo --render 3a5f0c9be1d2
  kubectl convoy release pin podinfo --render-ref 3a5f0c9be1d2 --dry-run=server`,
		Args:              oneName,
		ValidArgsFunction: c.completeRelease,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.renderRef, "render-ref", "", "The render: sha256:…, or at least the first 8 hex digits of one that the Release knows. "+
		"Default: the one that was last applied in full.")
	flags.StringVar(&o.reason, "reason", "", "Why, for whoever finds the pin later.")
	flags.Var(&o.expiresIn, "expires-in", "When the pin ends by itself, from now: 90m, 24h, 7d. Default: never.")
	flags.BoolVarP(&o.yes, "yes", "y", false, "Do not ask about a render that the store may not have.")
	flags.StringVar(&o.dryRun, "dry-run", "none", `"server" sends the request and changes nothing; "none" pins.`)
	o.addTo(cmd, "until the pinned render is applied in full")
	o.output = newOutput(cmd)
	mustComplete(cmd.RegisterFlagCompletionFunc("render-ref", c.completeRef))
	mustComplete(cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "server"}, cobra.ShellCompDirectiveNoFileComp)))
	for _, flag := range []string{"reason", "expires-in", "timeout"} {
		mustComplete(cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions))
	}
	return cmd
}

// check finds what is wrong with the flags, before anything is sent.
func (o *pinOptions) check(cmd *cobra.Command) error {
	switch {
	case o.dryRun != "none" && o.dryRun != "server":
		return usageError(cmd, "flag --dry-run: want none or server, not %q; only the server knows what it would do", o.dryRun)
	case o.dryRun == "server" && o.wait:
		return usageError(cmd, "flag --wait: a dry run pins nothing that could be waited for")
	case cmd.Flags().Changed("render-ref") && o.renderRef == "":
		return usageError(cmd, "flag --render-ref: it is empty; leave it out to pin the render that was last applied in full")
	}
	if err := o.waitOptions.check(cmd); err != nil {
		return err
	}
	return o.output.check(cmd)
}

func (o *pinOptions) run(cmd *cobra.Command, name string) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	spec := subresources.ReleasePinSpec{Reason: o.reason}
	if o.expiresIn > 0 {
		spec.ExpiresAt = endOf(time.Duration(o.expiresIn), o.now())
	}
	var ref refArgument
	if o.renderRef != "" {
		var err error
		if ref, err = parseRefArgument(o.renderRef); err != nil {
			return usageError(cmd, "flag --render-ref: %w", err)
		}
	}
	k, err := o.connect()
	if err != nil {
		return err
	}
	if ref != "" {
		if spec.RenderRef, err = o.choose(cmd.Context(), k, name, ref); err != nil {
			return err
		}
	}
	return o.pin(cmd.Context(), k, name, spec)
}

// endOf is when a pin ends, in whole seconds, as the server stores it.
func endOf(d time.Duration, now time.Time) *metav1.Time {
	end := metav1.NewTime(now.Add(d + time.Second - time.Nanosecond).UTC().Truncate(time.Second))
	return &end
}

// choose finds the render that --render-ref means, and asks about one that the Release does not know, or the store does not have.
func (o *pinOptions) choose(ctx context.Context, k *cluster, name string, typed refArgument) (string, error) {
	if typed.full() && (o.yes || o.dryRun == "server") {
		return k.meant(ctx, name, typed)
	}
	known, err := k.known(ctx, name, typed)
	if err != nil {
		return "", err
	}
	ref, isKnown, err := typed.resolve(name, known)
	if err != nil || o.yes || o.dryRun == "server" {
		return ref, err
	}
	var doubt string
	switch {
	case slices.Contains(known.gone, ref):
		doubt = fmt.Sprintf("The render store does not have render %s of Release %s any more.", short(ref), name)
	case isKnown:
		return ref, nil
	case known.hidden != nil:
		doubt = fmt.Sprintf("Release %s does not know render %s, and convoy cannot see from here whether the store has this render.\n%s",
			name, short(ref), known.hidden)
	default:
		doubt = fmt.Sprintf("Neither the status nor the history of Release %s names render %s.", name, short(ref))
	}
	o.note("%s", doubt)
	return ref, o.confirm("If the store does not have it, nothing is applied, and Applied says Pinned. Continue?",
		"it asks about a render that the store may not have: add --yes to pin it all the same")
}

// pin pins, says so, and waits if it shall.
func (o *pinOptions) pin(ctx context.Context, k *cluster, name string, spec subresources.ReleasePinSpec) error {
	before, replaced, err := k.pin(ctx, name)
	if err != nil {
		return err
	}
	if replaced.Spec != nil {
		o.note("This replaces a pin: %s", pinned(replaced))
	}
	var dryRun []string
	if o.dryRun == "server" {
		dryRun = []string{metav1.DryRunAll}
	}
	object, err := k.setPin(ctx, before, &spec, dryRun)
	if err != nil {
		return err
	}
	after, err := typed[subresources.ReleasePin](object)
	if err != nil {
		return err
	}
	if !o.output.forPeople() {
		if err := o.print(o.output, object); err != nil {
			return err
		}
	} else {
		o.tell(after, dryRun != nil, o.target(k))
	}
	if !o.wait {
		return nil
	}
	return o.await(ctx, k, name, pinApplied(after.Spec.RenderRef), o.waitOptions,
		"The pin stays in place, and convoy goes on. To undo it: "+unpinCommand(name, o.target(k)))
}

// tell says what was pinned.
func (o *pinOptions) tell(pin *subresources.ReleasePin, dryRun bool, target string) {
	effect := "a rollback: convoy applies it now"
	if pin.Status.Intent == v1alpha1.PinFreeze {
		effect = "a freeze: it is what was last applied in full"
	}
	if dryRun {
		o.say("Release %s would be pinned on render %s, %s. Nothing was changed (server dry run).", pin.Name, short(pin.Spec.RenderRef), effect)
		o.say("To see what that changes: %s", diffCommand(pin.Name, pin.Spec.RenderRef, target))
		return
	}
	o.say("Release %s is pinned on render %s, %s.", pin.Name, short(pin.Spec.RenderRef), effect)
	if end := pin.Spec.ExpiresAt; end != nil {
		o.say("The pin ends by itself %s, at %s.", relative(end.Time, o.now()), end.UTC().Format(time.DateTime+" MST"))
	}
	o.say("To undo it: %s", unpinCommand(pin.Name, target))
}
