package main

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/convoy-dev/convoy/redact"
)

// listOf is a List of objects.
func listOf(objects []unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Items: objects}
	list.SetAPIVersion("v1")
	list.SetKind("List")
	return list
}

// hasSecrets says whether there is a Secret among the objects.
func hasSecrets(list *unstructured.UnstructuredList) bool {
	return slices.ContainsFunc(list.Items, func(object unstructured.Unstructured) bool { return redact.IsSecret(&object) })
}

// printObjects prints the objects of a render: as one List in JSON, else one after the other. YAML begins with the heading and the caution,
// so that they are in the file too that somebody makes of it. The caution, if there is one, is seen in other formats as well.
func (c *cli) printObjects(o *output, list *unstructured.UnstructuredList, heading []string, caution string) error {
	switch {
	case o.format == yamlFormat:
		for _, line := range heading {
			c.say("# %s", line)
		}
		if caution != "" {
			c.say("# %s", caution)
		}
	case o.format != nameFormat && caution != "":
		c.note("%s", caution)
	}
	printer, err := o.objects.ToPrinter()
	if err != nil {
		return err
	}
	if o.format == jsonFormat {
		return printer.PrintObj(list, c.Out)
	}
	for i := range list.Items {
		if err := printer.PrintObj(&list.Items[i], c.Out); err != nil {
			return err
		}
	}
	return nil
}
