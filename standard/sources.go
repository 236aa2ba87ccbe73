package standard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/keyring"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/permission"
)

// LedgerPath is where approvals, trust and taint lie in a data folder.
func LedgerPath(dataDir string) string { return filepath.Join(dataDir, "ledger.db") }

// TrustKey is what trust in one entry of a project is kept under: it is for this content in this folder.
func TrustKey(folder, name, hash string) string {
	sum := sha256.New()
	for _, s := range []string{folder, name, hash} {
		one := sha256.Sum256([]byte(s))
		sum.Write(one[:])
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// Load reads and merges the configuration as Open does, and starts nothing. What the user trusts is as it was then.
func Load(ctx context.Context, o Options) (*config.Config, error) {
	o = o.withDefaults()
	trusted, err := trustedNow(ctx, LedgerPath(o.DataDir))
	if err != nil {
		trusted = nil // nothing, then; whoever opens a host hears why
	}
	return config.LoadAll(o.sources(func(folder, name, hash string) bool { return trusted[TrustKey(folder, name, hash)] }))
}

// LoadRules is Load with a file of rules in the place of the user's own, for what the rules would decide: the servers are
// those that there are. The file is a configuration, or what stands under permissions of one. What a person allowed for
// good is no rule, and stays.
func LoadRules(ctx context.Context, o Options, name string, data []byte) (*config.Config, error) {
	now, err := Load(ctx, o)
	if err != nil {
		return nil, err
	}
	content, err := config.Rules(name, data)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := o.sources(nil)
	s.Instead = &config.Text{Name: name, Data: content}
	c, err := config.LoadAll(s)
	if err != nil {
		return nil, err
	}
	c.Servers = now.Servers
	c.Permissions.Grants = append(c.Permissions.Grants, now.Permissions.Grants...)
	return c, nil
}

// Rules makes the rules that a host decides by out of a configuration. What is relative is so to the process's folder.
func Rules(c *config.Config) *permission.Policy { return policyOf(c, ".") }

func trustedNow(ctx context.Context, path string) (map[string]bool, error) {
	if !exists(path) {
		return nil, nil
	}
	ledger, err := sqlite.OpenLedger(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer ledger.Close()
	all, err := ledger.Trusts(ctx)
	trusted := make(map[string]bool, len(all))
	for _, t := range all {
		trusted[t.Key] = true
	}
	return trusted, err
}

func (o Options) sources(trusted func(folder, name, hash string) bool) config.Sources {
	return config.Sources{
		User: o.ConfigPath, Managed: o.Managed, Imported: config.ImportedPath(o.ConfigPath), Dir: o.Dir, CommandLine: o.CommandLine, Strict: o.Strict,
		Env: os.LookupEnv, Keyring: keyring.Lookup, Trusted: trusted,
	}
}

// trustPatience bounds one look at the ledger; what can't be looked up isn't trusted.
const trustPatience = 5 * time.Second

func trustedBy(ctx context.Context, ledger *sqlite.Ledger) func(folder, name, hash string) bool {
	return func(folder, name, hash string) bool {
		ctx, cancel := context.WithTimeout(ctx, trustPatience)
		defer cancel()
		ok, err := ledger.Trusted(ctx, TrustKey(folder, name, hash))
		return err == nil && ok
	}
}
