package cli

import "maestro/internal/home"

// existingHome opens this machine's home, which the caller closes.
func (a *Run) existingHome() (*home.Home, error) {
	path, err := home.Path(a.Getenv)
	if err != nil {
		return nil, err
	}
	return home.Open(path)
}

// openHome is existingHome for what can be done without one: it returns nil if there is none that this process may
// read.
func (a *Run) openHome() *home.Home {
	h, err := a.existingHome()
	if err != nil {
		return nil
	}
	return h
}
