package cli

import (
	"fmt"
	"strings"
)

// cell is one field of a table, printable already.
type cell struct {
	text  string
	style style
}

// table shows rows of cells in columns. The last column takes what is left of the terminal and is cut there; where too
// little is left, it goes to a line of its own.
type table struct {
	head []string
	rows [][]cell
}

const (
	gap       = "  "
	leastLast = 24 // columns below which the last one gets its own line
	ownLine   = "    "
)

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

func (t *table) print(to *terminal) {
	widths := t.widths()
	total := to.width()
	before := 0
	for _, w := range widths[:len(widths)-1] {
		before += w + len(gap)
	}
	left, folded := 0, false
	if total > 0 {
		left = total - before
		if folded = left < min(leastLast, widths[len(widths)-1]); folded {
			left = total - len(ownLine)
		}
	}
	var head []cell
	for i, h := range t.head {
		if !folded || i < len(t.head)-1 {
			head = append(head, cell{h, dim})
		}
	}
	fmt.Fprintln(to, row(to, head, widths, 0))
	for _, cells := range t.rows {
		last := len(cells) - 1
		cells[last].text = cut(cells[last].text, left)
		if !folded {
			fmt.Fprintln(to, row(to, cells, widths, 0))
			continue
		}
		fmt.Fprintln(to, row(to, cells[:last], widths, total))
		if cells[last].text != "" {
			fmt.Fprintln(to, ownLine+to.paint(cells[last].style, cells[last].text))
		}
	}
}

func (t *table) widths() []int {
	widths := make([]int, len(t.head))
	for i, h := range t.head {
		widths[i] = width(h)
	}
	for _, cells := range t.rows {
		for i, c := range cells {
			widths[i] = max(widths[i], width(c.text))
		}
	}
	return widths
}

// row joins cells. With a limit, columns close up in the one row that would be longer.
func row(to *terminal, cells []cell, widths []int, limit int) string {
	long := 0
	for i := range cells {
		long += widths[i] + len(gap)
	}
	var b strings.Builder
	for i, c := range cells {
		text := to.paint(c.style, c.text)
		if i < len(cells)-1 {
			if limit == 0 || long-len(gap) <= limit {
				text += strings.Repeat(" ", widths[i]-width(c.text))
			}
			text += gap
		}
		b.WriteString(text)
	}
	return strings.TrimRight(b.String(), " ")
}
