package cli

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/usher-mcp/usher/config/foreign"
)

// importChoices asks what only a person can say: whether the files of a folder count, and which one of two servers with
// one name is taken.
func (a *app) importChoices(ctx context.Context, in *foreign.Input) (*foreign.Plan, error) {
	typed := bufio.NewReader(a.in)
	if folder, servers := sharedServers(in.Readings); servers > 0 && !in.Shared {
		text := fmt.Sprintf("Files of the folder %s have %s. Somebody else may have written them; a server is a program that runs as you. Take them, too?",
			line(homely(folder)), plural(servers, "server"))
		fmt.Fprintf(a.err, "%s\n%s ", a.err.wrapped(text, 0), "[y] yes   [n] no (default) "+a.err.paint(bold, ">"))
		s, err := nextLine(ctx, typed)
		if err != nil {
			return nil, err
		}
		in.Shared = s == "y" || s == "yes"
	}
	p, err := foreign.Make(*in)
	if err != nil {
		return nil, a.importFailure(err)
	}
	for _, rivals := range rivalries(p) {
		chosen, err := a.chooseServer(ctx, typed, rivals)
		if err != nil {
			return nil, err
		}
		in.As[chosen.From] = chosen.Entry.Name
	}
	if p, err = foreign.Make(*in); err != nil {
		return nil, a.importFailure(err)
	}
	return p, nil
}

func sharedServers(readings []*foreign.Reading) (folder string, servers int) {
	for _, r := range readings {
		if r.Place.Shared && !r.Place.Named && len(r.Entries) > 0 {
			folder, servers = r.Place.Project, servers+len(r.Entries)
		}
	}
	return folder, servers
}

// rivalries are the servers of one name, of which one would be added; that one is the first.
func rivalries(p *foreign.Plan) (all [][]foreign.Planned) {
	for _, s := range p.Servers {
		if s.State != foreign.Added {
			continue
		}
		rivals := []foreign.Planned{s}
		for _, other := range p.Servers {
			if other.State == foreign.Conflict && other.With == s.From && other.From != s.From {
				rivals = append(rivals, other)
			}
		}
		if len(rivals) > 1 {
			all = append(all, rivals)
		}
	}
	return all
}

func (a *app) chooseServer(ctx context.Context, typed *bufio.Reader, rivals []foreign.Planned) (foreign.Planned, error) {
	fmt.Fprintf(a.err, "\n%s is the name of %s:\n", a.err.paint(bold, line(rivals[0].Entry.Name)), plural(len(rivals), "server"))
	for i, r := range rivals {
		a.rival(strconv.Itoa(i+1), r)
	}
	fmt.Fprintf(a.err, "Which one? 1 (default) to %d %s ", len(rivals), a.err.paint(bold, ">"))
	s, err := nextLine(ctx, typed)
	if err != nil {
		return rivals[0], err
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= len(rivals) {
		return rivals[n-1], nil
	}
	return rivals[0], nil
}

func (a *app) rival(mark string, r foreign.Planned) {
	fmt.Fprintf(a.err, "  %s  %s  %s\n", mark, line(r.From), a.err.paint(dim, line(homelyWhere(r.Where))))
	fmt.Fprintf(a.err, "     %s\n", cut(line(r.Endpoint()), max(0, a.err.width()-5)))
}

// nextLine is what a person types, in small letters; "" at the end of input. When ctx ends, the reader stays until the
// next line comes, which nobody gets then.
func nextLine(ctx context.Context, from *bufio.Reader) (string, error) {
	typed := make(chan string, 1)
	go func() {
		s, _ := from.ReadString('\n')
		typed <- strings.ToLower(strings.TrimSpace(s))
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case s := <-typed:
		return s, nil
	}
}
