package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// The formats that commands treat in a way of their own.
const (
	wideFormat = "wide" // the table with all columns
	jsonFormat = "json"
	yamlFormat = "yaml"
	nameFormat = "name"
)

// output is the flag -o of a command: how it prints what it has.
type output struct {
	format  string
	formats []string // besides the one for people that is the default
	objects *genericclioptions.PrintFlags
}

// newOutput adds the flag to a command. What the command prints itself, besides its default, is in its own formats.
func newOutput(cmd *cobra.Command, own ...string) *output {
	o := &output{objects: genericclioptions.NewPrintFlags("")}
	o.objects.TemplatePrinterFlags = nil
	o.objects.OutputFormat = nil // the flag below has the formats of the command as well
	o.objects.AddFlags(cmd)
	o.objects.OutputFormat = &o.format
	o.formats = append(o.objects.AllowedFormats(), own...)
	slices.Sort(o.formats)
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "How to print: one of "+strings.Join(o.formats, ", ")+". Default: for people.")
	mustComplete(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.formats, cobra.ShellCompDirectiveNoFileComp)))
	return o
}

// check says whether there is such a format, before anything is done.
func (o *output) check(cmd *cobra.Command) error {
	if o.format == "" || slices.Contains(o.formats, o.format) {
		return nil
	}
	return usageError(cmd, "flag --output: there is no format %q; use one of %s", o.format, strings.Join(o.formats, ", "))
}

// forPeople says that the command prints by itself.
func (o *output) forPeople() bool { return o.format == "" || o.format == wideFormat }

// print prints an object in the format that the flag names.
func (c *cli) print(o *output, object runtime.Object) error {
	printer, err := o.objects.ToPrinter()
	if err != nil {
		return err
	}
	return printer.PrintObj(object, c.Out)
}
