package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	defaultMatches = 200
	maxMatches     = 2000
	maxSearched    = 10 << 20 // bytes of a file
	maxQuery       = 1000
	maxProgram     = 2000 // instructions of a regular expression
	maxLine        = 500  // characters of a line that are shown
)

type searchArgs struct {
	Query         string `json:"query"`
	Path          string `json:"path"`
	Regex         bool   `json:"regex"`
	CaseSensitive *bool  `json:"case_sensitive"`
	Pattern       string `json:"pattern"`
	Limit         *int   `json:"limit"`
}

type searchOutput struct {
	Matches   []match `json:"matches"`
	Truncated bool    `json:"truncated"`
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// search is one search under way.
type search struct {
	*folder
	find    func([]byte) []int // the first match's place, nil if none
	limit   int
	found   []match
	size    int // bytes of found
	skipped int // binary, large or unreadable files
}

func (f *folder) search(ctx context.Context, a searchArgs) (*output, error) {
	find, err := finder(a)
	if err != nil {
		return nil, err
	}
	limit, err := within(a.Limit, defaultMatches, maxMatches)
	if err != nil {
		return nil, err
	}
	g, err := newGlob(a.Pattern)
	if err != nil {
		return nil, err
	}
	name, err := f.local(a.Path)
	if err != nil {
		return nil, err
	}
	info, err := f.stat(name)
	if err != nil {
		return nil, err
	}
	s := &search{folder: f, find: find, limit: limit, found: []match{}}
	if !info.IsDir() {
		return s.one(ctx, name, info)
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	w := &walk{folder: f, deep: true, visit: func(name, below string, e fs.DirEntry) error {
		if !e.Type().IsRegular() || !g.match(below) {
			return nil
		}
		return s.file(ctx, name)
	}}
	err = w.run(ctx, name)
	return s.output(err, w), w.failure(err)
}

// one searches a single file, of which a caller wants to know why it can't be searched.
func (s *search) one(ctx context.Context, name string, info fs.FileInfo) (*output, error) {
	if err := regular(name, info); err != nil {
		return nil, err
	}
	if info.Size() > maxSearched {
		return nil, fmt.Errorf("%s has %d bytes; files above 10 MiB are not searched", show(name), info.Size())
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	err := s.file(ctx, name)
	if s.skipped > 0 {
		return nil, fmt.Errorf("%s is binary or can't be read, and is not searched", show(name))
	}
	w := new(walk)
	return s.output(err, w), w.failure(err)
}

// finder compiles the query. Text that isn't a regular expression is found as it is written.
func finder(a searchArgs) (func([]byte) []int, error) {
	if a.Query == "" || len(a.Query) > maxQuery {
		return nil, fmt.Errorf(`wrong arguments: "query" must have from 1 to %d bytes`, maxQuery)
	}
	sensitive := a.CaseSensitive == nil || *a.CaseSensitive
	if !a.Regex && sensitive {
		text := []byte(a.Query)
		return func(line []byte) []int {
			if i := bytes.Index(line, text); i >= 0 {
				return []int{i, i + len(text)}
			}
			return nil
		}, nil
	}
	query := a.Query
	if !a.Regex {
		query = regexp.QuoteMeta(query)
	}
	if !sensitive {
		query = "(?i:" + query + ")"
	}
	if err := small(query); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(query)
	if err != nil {
		return nil, badQuery(err)
	}
	return re.FindIndex, nil
}

// small refuses an expression whose program would make each byte expensive.
func small(query string) error {
	tree, err := syntax.Parse(query, syntax.Perl)
	if err != nil {
		return badQuery(err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return badQuery(err)
	}
	if len(program.Inst) > maxProgram {
		return errors.New("the regular expression is too large; use smaller repetitions")
	}
	return nil
}

func badQuery(err error) error {
	return fmt.Errorf("the query is no RE2 regular expression: %w; leave regex out to find plain text", err)
}

// file adds the matching lines of one file. What can't be searched is counted.
func (s *search) file(ctx context.Context, name string) error {
	file, info, err := s.open(name)
	if err != nil || info.Size() > maxSearched {
		if err == nil {
			_ = file.Close()
		}
		s.skipped++
		return nil
	}
	defer func() { _ = file.Close() }()
	in := pieces.Get().(*bufio.Reader)
	defer giveBack(in)
	in.Reset(io.LimitReader(file, maxSearched))
	if isBinary(in) {
		s.skipped++
		return nil
	}
	return s.lines(ctx, name, in)
}

// lines searches line by line; a line longer than a piece is searched in pieces, so that ctx is seen in time.
func (s *search) lines(ctx context.Context, name string, in *bufio.Reader) error {
	for line, seen := 1, false; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := in.ReadSlice('\n')
		if len(text) > 0 && !seen {
			at := s.find(bytes.TrimRight(text, "\r\n"))
			if seen = at != nil; seen {
				if err := s.add(match{valid(name), line, excerpt(bytes.TrimRight(text, "\r\n"), at)}); err != nil {
					return err
				}
			}
		}
		if err == nil {
			line, seen = line+1, false
		} else if !errors.Is(err, bufio.ErrBufferFull) {
			return nil
		}
	}
}

func (s *search) add(m match) error {
	if s.size += len(m.Path) + len(m.Text); len(s.found) == s.limit || s.size > maxShown {
		return errEnough
	}
	s.found = append(s.found, m)
	return nil
}

// excerpt shows a line, or of a long one the part around the match.
func excerpt(line []byte, at []int) string {
	if utf8.RuneCount(line) <= maxLine {
		return valid(string(line))
	}
	runes := []rune(valid(string(line)))
	start := max(0, utf8.RuneCount(line[:at[0]])-maxLine/4)
	end := min(len(runes), start+maxLine)
	start = max(0, end-maxLine)
	text := string(runes[start:end])
	if start > 0 {
		text = "…" + text
	}
	if end < len(runes) {
		text += "…"
	}
	return text
}

func (s *search) output(err error, w *walk) *output {
	out := searchOutput{Matches: s.found, Truncated: err != nil || w.more}
	var b strings.Builder
	for i, m := range s.found {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d: %s", plain(m.Path), m.Line, m.Text)
	}
	notes := []string{w.notes(err)}
	switch {
	case errors.Is(err, errEnough):
		notes = append(notes, fmt.Sprintf("[The first %d are shown; there are more. Narrow path, pattern or query, or raise limit.]", len(s.found)))
	case len(s.found) == 0:
		notes = append(notes, "[Nothing found.]")
	}
	if s.skipped > 0 {
		notes = append(notes, fmt.Sprintf("[Files skipped as binary, above 10 MiB or not readable: %d.]", s.skipped))
	}
	return shown(out, b.String(), notes...)
}
