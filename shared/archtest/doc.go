// Package archtest holds tests only: who may import whom, who may rebuild a
// stored key, and what a tracked file may not say.
package archtest
