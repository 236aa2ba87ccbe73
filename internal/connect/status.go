package connect

// State is how it is with one client's file.
type State struct {
	Client  *Client
	File    string
	Project bool
	There   bool // the file is
	Here    bool // the client seems to be on this machine
	Ours    []Entry
	Own     []Entry // of the client's own
	Err     error   // why the file can't be read
}

// Look reads the file of each client: of the user, and of the project where it is there. It changes nothing.
func Look(p Place) (all []State) {
	for _, c := range Clients() {
		all = append(all, c.Look(p, c.File(p, false)))
		if !c.HasProject() {
			continue
		}
		s := c.Look(p, c.File(p, true))
		if s.Project = true; s.There {
			all = append(all, s)
		}
	}
	return all
}

// Look reads one file of the client.
func (c *Client) Look(p Place, file string) State {
	s := State{Client: c, File: file, Here: c.Here(p)}
	target, err := follow(file)
	if err != nil {
		s.Err = err
		return s
	}
	data, err := readTarget(target)
	if s.There = data != nil; data == nil {
		s.Err = err
		return s
	}
	plan := &Plan{Client: c, File: file}
	entries, err := plan.entries(data)
	for _, e := range entries {
		if e.Ours() {
			s.Ours = append(s.Ours, e)
		} else {
			s.Own = append(s.Own, e)
		}
	}
	s.Err = err
	return s
}
