package repair

import (
	"fmt"
	"strconv"
)

// changes collects what was changed: each kind once, with its first place.
type changes struct {
	list  []change
	index map[string]int
	more  int
}

type change struct {
	text, place string
	count       int
}

func (c *changes) add(place, text string) {
	const most = 30
	if i, ok := c.index[text]; ok {
		c.list[i].count++
		return
	}
	if len(c.list) == most {
		c.more++
		return
	}
	if c.index == nil {
		c.index = map[string]int{}
	}
	c.index[text] = len(c.list)
	c.list = append(c.list, change{text, place, 1})
}

func (c *changes) lines() []string {
	lines := make([]string, 0, len(c.list)+1)
	for _, ch := range c.list {
		line := ch.place + ": " + ch.text
		if ch.count > 1 {
			line += fmt.Sprintf(" (and in %d more places)", ch.count-1)
		}
		lines = append(lines, line)
	}
	if c.more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more changes", c.more))
	}
	return lines
}

// quoted shows a name that others wrote, printable and short.
func quoted(s string) string { return strconv.QuoteToGraphic(clip(s, 60)) }

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// visible quotes a text only if there is something in it that can't be seen.
func visible(s string) string {
	if q := strconv.QuoteToGraphic(s); q != `"`+s+`"` {
		return q
	}
	return s
}
