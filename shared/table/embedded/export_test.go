package embedded

// Commits is how many transactions the file has had.
func (s *Store) Commits(t interface{ Fatal(...any) }) int {
	tx, err := s.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	return tx.ID()
}

// Entries is how many keys a bucket of the file has.
func (s *Store) Entries(t interface{ Fatal(...any) }, bucket string) int {
	tx, err := s.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	return tx.Bucket([]byte(bucket)).Stats().KeyN
}
