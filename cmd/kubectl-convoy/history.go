package main

import (
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// defaultEntries is how many entries of a history are shown where --limit says nothing else.
const defaultEntries = 20

// historyOptions are the flags of history.
type historyOptions struct {
	*cli
	output *output
	limit  int
}

func newHistory(c *cli) *cobra.Command {
	o := &historyOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the renders that a Release applied, the newest first",
		Long: `List the renders that a Release applied in full, each once, the newest first. They come from the render store.

RENDER is the first 12 digits of the render, by which "diff", "show" and "pin" take it. SYNCED AT is when it was applied for the first time,
and SUMMARY what it was made from. MARKS are:

  current   it is the one that was last applied in full
  pinned    the Release is pinned to it
  healthy   it is the one that was last healthy
  gone      the render store does not have it any more, so it cannot be pinned

-o wide adds the time since, the size, and all digits of the render; -o name prints nothing but these, a line for each.`,
		Example: `  kubectl convoy release history podinfo
  kubectl convoy release history podinfo -o wide --limit 0

  # What would a rollback to one of them change?
  kubectl convoy release diff podinfo --render 3a5f0c9be1d2`,
		Args:              oneName,
		ValidArgsFunction: c.completeRelease,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	cmd.Flags().IntVar(&o.limit, "limit", defaultEntries, "How many of the newest entries to list; 0 for all.")
	mustComplete(cmd.RegisterFlagCompletionFunc("limit", cobra.NoFileCompletions))
	o.output = newOutput(cmd, wideFormat)
	return cmd
}

func (o *historyOptions) run(cmd *cobra.Command, name string) error {
	if o.limit < 0 {
		return usageError(cmd, "flag --limit: want a number of entries, or 0 for all, not %d", o.limit)
	}
	if err := o.output.check(cmd); err != nil {
		return err
	}
	k, err := o.connect()
	if err != nil {
		return err
	}
	done := o.busy("Reading the history of " + name)
	object, history, err := k.history(cmd.Context(), name, o.limit)
	done()
	switch {
	case err != nil:
		return err
	case o.output.format == nameFormat:
		for _, entry := range history.Items {
			o.say("%s", entry.RenderRef)
		}
	case !o.output.forPeople():
		err = o.print(o.output, object)
	case len(history.Items) == 0:
		o.note("The history of Release %s in namespace %s is empty. A render gets into it when it is applied in full.", name, k.namespace)
	default:
		err = writeRows(o.Out, historyColumns, historyRows(history.Items, o.now()), tableOptions{
			wide: o.output.format == wideFormat, painter: painterFor(o.Out),
		})
	}
	o.tellOlder(history)
	return err
}

// tellOlder says that there are entries that were not asked for.
func (o *historyOptions) tellOlder(history *subresources.ReleaseHistory) {
	switch left := history.RemainingItemCount; {
	case history.Continue == "":
	case left != nil && *left == 1:
		o.note("1 older entry is not shown. --limit 0 shows all.")
	case left != nil:
		o.note("%d older entries are not shown. --limit 0 shows all.", *left)
	default:
		o.note("Older entries are not shown. --limit 0 shows all.")
	}
}

// historyColumns are the columns of a history. Those with a priority are in the wide table only.
var historyColumns = []metav1.TableColumnDefinition{
	{Name: "Render", Type: "string"},
	{Name: "Synced At", Type: "string"},
	{Name: "Summary", Type: "string"},
	{Name: "Marks", Type: "string"},
	{Name: "Age", Type: "string", Priority: 1},
	{Name: "Size", Type: "string", Priority: 1},
	{Name: "Ref", Type: "string", Priority: 1},
}

// historyRows has a line for each entry; on a terminal, what runs and what cannot be had any more are colored.
func historyRows(entries []subresources.ReleaseHistoryEntry, now time.Time) []row {
	rows := make([]row, len(entries))
	for i, entry := range entries {
		size := ""
		switch {
		case entry.Size == nil:
			rows[i].color = yellow
		case entry.Current:
			rows[i].color = green
		}
		if entry.Size != nil {
			size = sizeOf(*entry.Size)
		}
		rows[i].cells = []string{
			short(entry.RenderRef), entry.SyncedAt.UTC().Format(time.RFC3339), entry.Summary, marks(entry),
			duration.HumanDuration(now.Sub(entry.SyncedAt.Time)), size, entry.RenderRef,
		}
	}
	return rows
}

// marks are what is special of an entry.
func marks(entry subresources.ReleaseHistoryEntry) string {
	given := func(is bool, mark string) string {
		if is {
			return mark
		}
		return ""
	}
	return joinNonEmpty(",",
		given(entry.Current, "current"), given(entry.Pinned, "pinned"), given(entry.Healthy, "healthy"), given(entry.Size == nil, "gone"))
}
