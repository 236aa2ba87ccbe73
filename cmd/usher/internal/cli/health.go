package cli

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/admin"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/internal/secret"
)

// examiner is what the health of servers is seen with.
type examiner struct {
	redact func([]byte) []byte
	stray  func(server string) (count int, sample string) // also of a server that has ended
}

func (x examiner) health(c config.Server, s usher.ServerStatus) serverHealth {
	h := serverHealth{
		Name: c.Name, State: s.State, Transport: c.Transport, Target: admin.Target(c), Era: s.Era, Revision: s.Revision, Why: s.Why,
		TookMs: s.Took.Milliseconds(), Tools: s.Tools, StrayLines: s.StrayLines, StraySample: s.StraySample, Source: c.Source,
	}
	if foreignTo(c.Source) {
		h.From = whose(c)
	}
	if s.Fallback {
		h.Transport = config.TransportSSE
	}
	if h.Revision == "" {
		h.Era = "" // it isn't known
	}
	switch {
	case c.Disabled:
		h.State = "disabled"
	case s.State != "up":
		h.State, h.Error, h.Stderr = "down", inWords(c, s.Err, whole(s.Err)), tailOf(s.Stderr)
		h.Answered = answered(s.Err, x.redact)
		if h.StrayLines == 0 {
			h.StrayLines, h.StraySample = x.stray(c.Name)
		}
		h.Hints = hints(c, h.Stderr+"\n"+h.Error)
		for _, cure := range cures(c, s.Err) {
			h.Hints = append(h.Hints, string(x.redact([]byte(cure))))
		}
	}
	return h
}

// inWords is a reason with what only the entry tells: for how long an answer was waited for, and that a program which is
// to stay has ended.
func inWords(c config.Server, err error, reason string) string {
	switch {
	case err != nil && fault.KindOf(err) == fault.Timeout:
		detail := fault.Of(err).Detail
		waited, start := strings.CutPrefix(detail, "it didn't answer within ")
		switch {
		case detail != "" && !start: // it was up, and silent since
			return reason
		case !start, c.StartTimeout > 0:
			waited = span(cmp.Or(c.StartTimeout, c.Lifecycle.FirstConnect, lifecycle.Default().FirstConnect))
		}
		return "no answer within " + waited + ", its startTimeout"
	case c.Transport == config.TransportStdio && strings.HasPrefix(reason, "exit status "), strings.HasPrefix(reason, "killed by "):
		return "it ended at once: " + reason
	}
	return reason
}

// span is a time that a person configured.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return strconv.FormatFloat(d.Seconds(), 'g', 4, 64) + " s"
}

var (
	secretFlag = regexp.MustCompile(`(?i)^--?[a-z0-9_-]*(key|token|secret|passw|auth|credential)[a-z0-9_-]*$`)
	secretPair = regexp.MustCompile(`(?i)^((?:--?)?[a-z0-9_-]*(?:key|token|secret|passw|auth|credential)[a-z0-9_-]*=).+$`)
	userInfo   = regexp.MustCompile(`://[^/@\s]+@`)
)

// commandLine is what an entry starts, as a shell takes it, without the secrets that are known or look like ones.
func commandLine(c config.Server, redact func([]byte) []byte) string {
	words, follows := []string{shellWord(c.Command)}, false
	for _, arg := range c.Args {
		switch {
		case follows && !strings.HasPrefix(arg, "-"):
			arg = secret.Mask
		default:
			arg = string(redact([]byte(userInfo.ReplaceAllString(secretPair.ReplaceAllString(arg, "${1}"+secret.Mask), "://"+secret.Mask+"@"))))
		}
		follows = secretFlag.MatchString(arg)
		if arg != secret.Mask {
			arg = shellWord(arg)
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// whole is why, with all that the cause says where a message for agents was cut.
func whole(err error) string {
	text := why(err)
	if start, was := strings.CutSuffix(text, "…"); was && err != nil {
		if cause := fault.Of(err).Cause; cause != nil && strings.HasPrefix(cause.Error(), start) {
			return cause.Error()
		}
	}
	return text
}

const maxTail = 8 // lines of standard error that are shown

func tailOf(stderr string) string {
	all := strings.Split(strings.TrimRight(stderr, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-maxTail):], "\n")
}

// hints names what a server that failed seems to miss.
func hints(c config.Server, said string) []string {
	if c.Transport != config.TransportStdio {
		return nil
	}
	var all []string
	for _, name := range missing(c, said) {
		first := "set it, and pass it on"
		if _, here := os.LookupEnv(name); here {
			first = "it is set here, and the entry doesn't pass it on"
		}
		all = append(all, fmt.Sprintf(`it seems to miss the variable %s: %s: "env": {"%s": "${%s}"}`, name, first, name, name))
	}
	return all
}

var (
	variable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)
	missed   = regexp.MustCompile(`(?i)\b(environment|env|variable|not set|unset|missing|required?s?|must be|undefined|is empty|provide|please set|export)\b`)
	errCode  = regexp.MustCompile(`^(ERR|E|UND_ERR)_|_NOT_FOUND$`)
	secretly = regexp.MustCompile(`_(KEY|TOKEN|SECRET|PASSWORD|URL|URI|ID|USER|HOST|DIR|PATH)$`)
)

// missing finds the variables that a server's own words name and that its environment doesn't have.
func missing(c config.Server, said string) []string {
	plain := map[string]string{}
	for name := range c.Env {
		plain[name] = ""
	}
	has := func(name string) bool {
		return slices.ContainsFunc(sandbox.Environ(os.Environ(), plain), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	var names []string
	for l := range strings.Lines(said) {
		for _, name := range variable.FindAllString(l, -1) {
			speaks := missed.MatchString(l) || secretly.MatchString(name)
			if speaks && !errCode.MatchString(name) && !has(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names[:min(len(names), 3)]
}
