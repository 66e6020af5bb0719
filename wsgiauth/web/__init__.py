"""What HTTP asks for, whatever the application: requests, responses, pages and URLs."""
