package connect

import (
	"bytes"
	"os"
	"path/filepath"
)

// Apply does what is planned: the old file is copied into the data folder, then the record is written, then the file, in
// one step and with its mode and owner. It is ErrChanged, and nothing has been written, where the file isn't what it was
// when the plan was made. Processes that apply at once wait for each other, at most 10 seconds.
func (p *Plan) Apply() error {
	unlock, err := lock(folder(p.data))
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.unchanged(); err != nil {
		return err
	}
	id := recordID(p.Client.Name, p.Target)
	if p.Changed() {
		if err := p.backup(id); err != nil {
			return err
		}
	}
	if p.next != nil {
		made, err := makeFolders(filepath.Dir(p.Target))
		if err != nil {
			return err
		}
		p.next.Made = append(p.next.Made, made...)
		if err := p.next.write(p.data, id); err != nil {
			return err
		}
	}
	if err := p.write(); err != nil {
		return err
	}
	if p.Undo {
		return forget(filepath.Join(folder(p.data), id+".json"))
	}
	return nil
}

func (p *Plan) unchanged() error {
	target, err := follow(p.File)
	if err != nil {
		return err
	}
	now, err := readTarget(target)
	if err != nil {
		return err
	}
	if target != p.Target || !bytes.Equal(now, p.Before) || (now == nil) != (p.Before == nil) {
		return ErrChanged
	}
	return nil
}

func (p *Plan) write() error {
	switch {
	case !p.Changed():
		return nil
	case p.After != nil:
		return replaceSame(p.Target, p.Before, p.After, p.mode())
	}
	if err := os.Remove(p.Target); err != nil {
		return err
	}
	for i := len(p.made) - 1; i >= 0; i-- {
		_ = os.Remove(p.made[i]) // others may have put something into it
	}
	return nil
}

// mode is that of a file that is new: one of a project is for all who work on it, unless what comes back may be secret.
func (p *Plan) mode() os.FileMode {
	if p.project && !p.Undo {
		return 0o644
	}
	return 0o600
}

// Backup is the copy of the file before, and where it is once the plan has been applied; "" where there is none.
func (p *Plan) Backup() string {
	name := backupName(recordID(p.Client.Name, p.Target), p.Before)
	if name == "" {
		return ""
	}
	return filepath.Join(folder(p.data), name)
}
