module github.com/wardenhq/warden

go 1.26.0
