"""What a job does between its options and its tables, where that is more than a page: jobs only wire."""
