package main

import (
	"bytes"
	"cmp"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
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

// row is a line of a table.
type row struct {
	color  color          // on a terminal
	cells  []string       // one for each column; an empty one is shown as none
	object runtime.Object // what the line is about; needed only where namespaces are shown
}

// writeRows writes a table.
func writeRows(w io.Writer, columns []metav1.TableColumnDefinition, rows []row, o tableOptions) error {
	table := &metav1.Table{ColumnDefinitions: columns}
	for _, r := range rows {
		filled := make([]any, len(r.cells))
		for i, cell := range r.cells {
			filled[i] = cmp.Or(cell, none)
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: filled, Object: runtime.RawExtension{Object: r.object}})
	}
	var text bytes.Buffer
	printer := printers.NewTablePrinter(printers.PrintOptions{WithNamespace: o.namespaces, Wide: o.wide})
	if err := printer.PrintObj(table, &text); err != nil {
		return err
	}
	header, lines, _ := strings.Cut(text.String(), "\n")
	painted := []string{header}
	for i, line := range strings.Split(strings.TrimSuffix(lines, "\n"), "\n") {
		painted = append(painted, o.painter.paint(rows[i].color, line))
	}
	_, err := io.WriteString(w, strings.Join(painted, "\n")+"\n")
	return err
}
