package config

import (
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"
)

// folderOf is the folder that a name under projects means; "" if it means none.
func (r *reader) folderOf(name string) string {
	if dir := r.home(name); filepath.IsAbs(dir) && !strings.ContainsRune(dir, 0) {
		return filepath.Clean(dir)
	}
	return ""
}

// checkProjects says what is wrong with projects as a whole; what is in it is read for the one folder that it is about,
// as a source of its own. What can't be read may have been a deny.
func (r *reader) checkProjects(f field) {
	before := len(r.cfg.Problems)
	members, _ := r.members(f, `{"/home/me/project": {"mcpServers": {…}}}`)
	seen := make(map[string]bool)
	for _, m := range members {
		switch dir := r.folderOf(m.name); {
		case dir == "":
			r.report(m.key, m.path, `expected the whole path of a folder; write "/home/me/project" or "~/project"`)
		case seen[dir]:
			r.report(m.key, m.path, "this folder is here twice, in two spellings; keep one of them")
		default:
			seen[dir] = true
			r.members(m, `{"mcpServers": {…}}`)
		}
	}
	if len(r.cfg.Problems) > before {
		r.cfg.Permissions.Incomplete = true
	}
}

// localFields is what projects says about the working folder, or about the nearest one above it. G2
func (r *reader) localFields(root []field) []field {
	best, longest := []field(nil), 0
	here := filepath.Clean(r.from.Folder)
	for _, f := range root {
		object, ok := f.value.Value.(*hujson.Object)
		if f.name != "projects" || !ok || r.from.Folder == "" {
			continue
		}
		for _, m := range fieldsOf(object, f.path) {
			content, ok := m.value.Value.(*hujson.Object)
			if dir := above(r.folderOf(m.name), here); ok && len(dir) > longest {
				best, longest, r.folder = fieldsOf(content, m.path), len(dir), dir
			}
		}
	}
	return best
}

// above is folder as dir knows it, which may be another path to it; "" if dir isn't in it. Both are clean and absolute.
func above(folder, dir string) string {
	if folder == "" || isWithin(dir, folder) {
		return folder
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil && isWithin(dir, real) {
		return real
	}
	return ""
}

func isWithin(dir, folder string) bool {
	return dir == folder || folder == "/" || strings.HasPrefix(dir, folder+"/")
}
