// Package e2e asks the whole server over HTTP: tests only. The store under it
// is the backend that WARDEN_TEST_BACKEND names, the embedded one by default.
package e2e
