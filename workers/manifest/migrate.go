package manifest

// Migrate converts a manifest of an old form to the present one: task becomes tasks, orchestratorStrategy strategy. It
// returns a present one unchanged, with changed false. It refuses what Parse refuses, including other versions.
func Migrate(document []byte) (migrated []byte, changed bool, err error) {
	return Reader{}.Migrate(document)
}

// Migrate is Migrate with the reader's agents.
func (r Reader) Migrate(document []byte) (migrated []byte, changed bool, err error) {
	m, legacy, err := r.read(document)
	if err != nil || !legacy {
		return document, false, err
	}
	return m.Canonical(), true, nil
}
